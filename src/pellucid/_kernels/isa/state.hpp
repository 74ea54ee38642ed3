// What one step leaves behind for the next. A run can be put down between two steps and taken up
// again, and no bit of its result differs.
#pragma once

#include "lbfgs.hpp"
#include "optimizers.hpp"
#include "schedules.hpp"

namespace pellucid::PELLUCID_ISA {

using State = pellucid::State<real>;

inline void copy(real* to, const real* from, int64_t n) {
    __builtin_memcpy(to, from, sizeof(real) * size_t(n));
}

// The lowest validation loss so far; nan is never lower.
struct Best {
    double loss = __builtin_inf();
    int64_t step = -1, waited = 0;

    bool improves(double validation, int64_t at) {
        ++waited;
        if (!(validation < loss)) return false;
        loss = validation, step = at, waited = 0;
        return true;
    }
};

struct Run {
    int64_t step, next_row, n_recorded, n_measured;
    uint64_t random;     // of the shuffling
    int64_t n_parameters, n_order;
    Moments moments;     // with the parameters; L-BFGS has none, n_moments is 0
    int64_t n_moments;
    real* snapshot;      // the last recorded finite parameters; under patience the best
    int32_t* order;      // the permutation of minibatches, (n_order); none in full batches
    Best best;
    Plateau plateau;
    Lbfgs lbfgs;
};

// Counts, saves or restores, one piece after the other.
class Transfer {
public:
    enum Way { count, save, restore };
    StateSize size{};

    Transfer(Way way, const State& state) : way_(way), state_(state) {}

    void numbers(real* x, int64_t n) { move(x, state_.numbers, size.numbers, n); }
    void order(int32_t* x, int64_t n) { move(x, state_.order, size.order, n); }
    void scalars(double* x, int64_t n) { move(x, state_.scalars, size.scalars, n); }
    void scalar(double& x) { scalars(&x, 1); }
    void counter(int64_t& x) { move(&x, state_.counters, size.counters, 1); }

private:
    template <class T>
    void move(T* mine, T* kept, int64_t& at, int64_t n) {
        const size_t bytes = sizeof(T) * size_t(n);
        if (way_ == save && n) __builtin_memcpy(kept + at, mine, bytes);
        if (way_ == restore && n) __builtin_memcpy(mine, kept + at, bytes);
        at += n;
    }

    Way way_;
    State state_;
};

// The one list of what a state holds. The caller reads the first four counters.
inline StateSize transfer(Run& run, Transfer with) {
    int64_t random = int64_t(run.random);
    Lbfgs& q = run.lbfgs;
    for (int64_t* c : {&run.step, &run.next_row, &run.n_recorded, &run.n_measured, &random,
                       &run.best.step, &run.best.waited, &run.plateau.waited, &q.pairs})
        with.counter(*c);
    run.random = uint64_t(random);
    for (double* s : {&run.best.loss, &run.moments.beta1_power, &run.moments.beta2_power,
                      &run.plateau.rate, &run.plateau.lowest, &q.scale})
        with.scalar(*s);
    for (real* x : {run.moments.parameters, run.snapshot})
        with.numbers(x, run.n_parameters);
    for (real* x : {run.moments.first, run.moments.second}) with.numbers(x, run.n_moments);
    for (real* x : {q.s, q.y})
        for (int64_t i = 0; i < q.m; ++i) with.numbers(x + i * q.n, run.n_parameters);
    with.scalars(q.sy, q.m);
    with.order(run.order, run.n_order);
    return with.size;
}

}  // namespace pellucid::PELLUCID_ISA
