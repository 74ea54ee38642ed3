// The whole training loop of one network. Compiled once for each instruction set.
#include "isa/evaluation.hpp"
#include "isa/lbfgs.hpp"
#include "isa/measure.hpp"
#include "isa/network.hpp"
#include "isa/optimizers.hpp"
#include "isa/penalties.hpp"
#include "isa/rows.hpp"
#include "isa/schedules.hpp"
#include "isa/state.hpp"

namespace pellucid::PELLUCID_ISA {
namespace {

// p is padded with zeros. Several sums: one would wait for itself at every addition (measured: a
// tenth of a network of 27,000 parameters whose losses are recorded at every third step).
bool all_finite(const real* p, int64_t n) {
    constexpr int K = 8;
    vf probes[K] = {};
    int64_t i = 0;
    for (; i + K * L <= n; i += K * L)
        for (int k = 0; k < K; ++k) probes[k] += load(p + i + k * L) * 0.0f;
    for (; i < n; i += L) probes[0] += load(p + i) * 0.0f;
    vf probe = probes[0];
    for (int k = 1; k < K; ++k) probe += probes[k];
    return sum(probe) == 0;
}

double held_out(const Job& job, const Workspace& w) {
    return job.validation.n ? mean_loss(job, w, job.validation) : __builtin_nan("");
}

void zero(real* x, int64_t n) {
    if (n) __builtin_memset(x, 0, sizeof(real) * size_t(n));
}

void start(const Job& job, Workspace& w) {
    Run& run = w.run;
    const int64_t p = padded(run.n_parameters);
    const Lbfgs& q = run.lbfgs;
    for (real* x : {w.net.parameters, w.net.gradient}) zero(x, p);
    for (real* x : {run.moments.first, run.moments.second}) zero(x, run.n_moments);
    for (real* x : {q.s, q.y}) zero(x, q.m * q.n);
    for (int64_t i = 0; i < q.m; ++i) q.sy[i] = 0;
    zero(w.net.lanes, w.net.n_lanes * L);
    copy(w.net.parameters, job.parameters, run.n_parameters);
    copy(run.snapshot, job.parameters, run.n_parameters);
    run.random = job.seed;
    run.plateau.rate = job.optimizer.learning_rate;
    run.next_row = job.training.n;
    for (int64_t i = 0; i < run.n_order; ++i) run.order[i] = int32_t(i);
    if (job.resume.counters) transfer(run, {Transfer::restore, job.resume});
    w.total_weight = total_weight(job, job.training, {nullptr, 0, int(job.training.n)});
    if (w.full_batch) pack(job, w);
    start_meter(job, w.meter);
}

Batch next_batch(const Job& job, Workspace& w) {
    const int64_t n = job.training.n, largest = batch_rows(job);
    if (w.full_batch) return {0, n, w.total_weight};
    Run& run = w.run;
    if (run.next_row >= n) {
        shuffle(run.order, n, run.random);
        run.next_row = 0;
    }
    const int64_t first = run.next_row, m = n - first < largest ? n - first : largest;
    run.next_row += m;
    return {first, m, total_weight(job, job.training, {run.order, first, int(m)})};
}

void add_record(const Job& job, Run& run, double loss, double validation) {
    job.recorded_steps[run.n_recorded] = run.step;
    job.losses[run.n_recorded] = loss;
    if (job.validation_losses) job.validation_losses[run.n_recorded] = validation;
    ++run.n_recorded;
}

// False where patience is at its end; that step is recorded by what ends the run.
bool record(const Job& job, Workspace& w, double loss) {
    Run& run = w.run;
    const double validation = held_out(job, w);
    if (!job.patience || run.best.improves(validation, run.step))
        copy(run.snapshot, w.net.parameters, run.n_parameters);
    else if (run.best.waited >= job.patience)
        return false;
    add_record(job, run, loss, validation);
    if (job.schedule.kind == ScheduleKind::plateau && run.step >= job.schedule.warmup)
        run.plateau.look(job.schedule, job.validation.n ? validation : loss);
    return true;
}

// The objective of L-BFGS, with its gradient; nan where it is not finite.
double objective(const Job& job, Workspace& w, bool measuring) {
    Lbfgs& q = w.run.lbfgs;
    const Batch batch = next_batch(job, w);
    const LossSum sum_of = step_gradient(job, w, batch, true, measuring);
    q.loss = mean(sum_of.loss, batch.total);
    if (!sum_of.finite()) return __builtin_nan("");
    return q.loss + penalize(job.optimizer.weight_decay, w.net.parameters, w.net.gradient, q.n);
}

struct Evaluated {
    Status status;  // anything but `finished` ends the run
    double loss;
};

Evaluated evaluate(const Job& job, Workspace& w, bool want_loss, bool measuring) {
    Lbfgs& q = w.run.lbfgs;
    if (q.m == 0) {
        const Batch batch = next_batch(job, w);
        const LossSum sum_of = step_gradient(job, w, batch, want_loss, measuring);
        return {sum_of.finite() ? Status::finished : Status::diverged,
                mean(sum_of.loss, batch.total)};
    }
    if (!q.known || measuring) q.objective = objective(job, w, measuring);
    q.known = true;
    const double steepest = largest_size(w.net.gradient, q.n);
    if (!(q.objective - q.objective == 0 && steepest - steepest == 0))
        return {Status::diverged, q.objective};
    return {steepest <= flat_gradient ? Status::converged : Status::finished, q.loss};
}

// From a gradient to the next parameters.
Status move(const Job& job, Workspace& w) {
    Run& run = w.run;
    real *parameters = w.net.parameters, *gradient = w.net.gradient;
    if (run.lbfgs.m) {
        const bool lower = lbfgs_step(run.lbfgs, job.optimizer.learning_rate, parameters, gradient,
                                      [&] { return objective(job, w, false); });
        return lower ? Status::finished : Status::converged;
    }
    const int64_t p = run.moments.n;
    if (job.l1 > 0) add_l1(real(job.l1), parameters, gradient, p);
    if (job.clip_norm > 0) clip(job.clip_norm, gradient, p);
    update(job.optimizer, learning_rate(job, run.step, run.plateau.rate), run.moments);
    return Status::finished;
}

// From the batch to the update. Anything but `finished` ends the run.
Status one_step(const Job& job, Workspace& w) {
    Run& run = w.run;
    if (__atomic_load_n(job.stop, __ATOMIC_RELAXED)) return Status::interrupted;
    if (job.pause_at && run.step >= job.pause_at) return Status::interrupted;
    const bool recording = run.step % job.record_every == 0;
    const bool measuring = w.meter.every && run.step % w.meter.every == 0;
    const Evaluated at = evaluate(job, w, recording, measuring);
    if (at.status != Status::finished) return at.status;
    if (recording && !all_finite(w.net.parameters, run.n_parameters)) return Status::diverged;
    if (recording && !record(job, w, at.loss)) return Status::stopped_early;
    const Status status = move(job, w);
    if (measuring) {
        measure_update(job, w.net, w.meter, run.n_measured);
        job.measures.steps[run.n_measured++] = run.step;
    }
    ++run.step;
    return status;
}

// The last record, and the parameters that come back. An interrupted run may go on, so it has not
// diverged, whatever its parameters are by now.
Outcome finish(const Job& job, Workspace& w, Status status) {
    Run& run = w.run;
    if (status != Status::diverged && job.pause.counters)
        transfer(run, {Transfer::save, job.pause});
    double loss = __builtin_nan("");
    if (status != Status::diverged) loss = mean_loss(job, w, job.training);
    const bool fine = loss - loss == 0 && all_finite(w.net.parameters, run.n_parameters);
    if (!fine && status != Status::interrupted) status = Status::diverged;
    const double validation = fine ? held_out(job, w) : __builtin_nan("");
    add_record(job, run, fine ? loss : __builtin_nan(""), validation);
    const bool last = fine && (!job.patience || run.best.improves(validation, run.step) ||
                               run.best.step < 0);
    copy(job.parameters, last ? w.net.parameters : run.snapshot, run.n_parameters);
    return {status, run.step, run.n_recorded, run.n_measured, run.best.step};
}

Outcome train(const Job& job, void* memory) {
    const FlushSubnormals flush;
    Arena arena{static_cast<char*>(memory)};
    Workspace w = plan(job, arena);
    start(job, w);
    Status status = Status::finished;
    while (status == Status::finished && w.run.step < job.steps) {
        status = one_step(job, w);
        __atomic_store_n(job.progress, w.run.step, __ATOMIC_RELAXED);
    }
    return finish(job, w, status);
}

StateSize state_size(const Job& job) {
    Arena arena{nullptr};
    Run run = plan(job, arena).run;
    return transfer(run, {Transfer::count, {}});
}

size_t workspace_bytes(const Job& job) {
    Arena arena{nullptr};
    plan(job, arena);
    return arena.used;
}

#if !defined(PELLUCID_SMALL)

// Calls f on blocks of L numbers, so that any n will do.
template <class F>
void in_blocks(const real* x, int64_t n, const F& f) {
    for (int64_t i = 0; i < n; i += L) {
        const int m = n - i < L ? int(n - i) : L;
        alignas(64) real in[L] = {};
        for (int k = 0; k < m; ++k) in[k] = x[i + k];
        f(i, m, in);
    }
}

vf function(Function f, vf x) {
    switch (f) {
        case Function::exp: return exp(x);
        case Function::expm1: return expm1(x);
        case Function::log: return log(x);
        case Function::log1p: return log1p(x);
        case Function::tanh: return tanh(x);
        case Function::erf: return erf(x, exp(-x * x));
        case Function::square_root: return square_root(x);
        case Function::binet: return binet(x);
        case Function::binet_slope: return binet_slope(x);
        case Function::half_step: return half_step(x);
        case Function::half_step_slope: return half_step_slope(x);
        case Function::count: break;
    }
    return x;
}

void apply(Function f, const real* x, real* out, int64_t n) {
    const FlushSubnormals flush;
    in_blocks(x, n, [&](int64_t i, int m, const real* in) {
        const vf y = function(f, load(in));
        for (int k = 0; k < m; ++k) out[i + k] = y[k];
    });
}

void activate_any(const HiddenLayer& layer, const real* z, real* value, real* slope,
                  int64_t n) {
    const FlushSubnormals flush;
    in_blocks(z, n, [&](int64_t i, int m, const real* in) {
        alignas(64) real v[L], s[L];
        activate(layer, in, v, s, L);
        for (int k = 0; k < m; ++k) value[i + k] = v[k], slope[i + k] = s[k];
    });
}

double rate_of_step(const Job& job, int64_t step) {
    return learning_rate(job, step, job.optimizer.learning_rate);
}

#endif

}  // namespace

extern const Kernel kernel;
#if defined(PELLUCID_SMALL)
const Kernel kernel{PELLUCID_ISA_NAME, workspace_bytes, state_size, train, nullptr, nullptr, nullptr};
#else
const Kernel kernel{PELLUCID_ISA_NAME, workspace_bytes, state_size, train,
                    rate_of_step,      apply,           activate_any};
#endif

}  // namespace pellucid::PELLUCID_ISA
