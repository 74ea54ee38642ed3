// The training kernel's interface: plain data in, plain data out; Real is float or double.
//
// No Python, no threads, no operating system, no allocation: the caller owns every array. The
// same sources are compiled once per instruction set and type; each object offers one `Kernel`.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pellucid {

// The order of these names is the order of the tables in bindings.cpp.
enum class Activation : int32_t {
    identity, relu, leaky_relu, prelu, hardtanh, abs, sigmoid, tanh,
    elu, gelu, gelu_tanh, silu, softplus, softsign, count
};
enum class Likelihood : int32_t {
    gaussian, bernoulli, categorical, mean_variance, laplace, student_t, poisson,
    negative_binomial, ordinal, quantile, mixture, count
};
enum class Optimizer : int32_t { sgd, rmsprop, adam, adamw, lbfgs, count };
enum class ScheduleKind : int32_t { constant, step, cosine, one_cycle, plateau, count };
enum class Status : int32_t { finished, interrupted, diverged, stopped_early, converged };
enum class Function : int32_t {
    exp, expm1, log, log1p, tanh, erf, square_root,
    binet, binet_slope, half_step, half_step_slope, count
};

constexpr bool takes_labels(Likelihood likelihood) {
    return likelihood == Likelihood::categorical || likelihood == Likelihood::ordinal;
}

// Outputs of the network that one column of targets takes, under the likelihood's n parameters.
constexpr int outputs_per_target(Likelihood likelihood, const double* parameters, int n) {
    switch (likelihood) {
        case Likelihood::mean_variance:
        case Likelihood::laplace:
        case Likelihood::negative_binomial: return 2;
        case Likelihood::student_t: return parameters[0] == 0 ? 3 : 2;  // nu: learned, or given
        case Likelihood::quantile: return n;
        case Likelihood::mixture: return 3 * int(parameters[0]);
        default: return 1;
    }
}

// n rows: X row by row, and labels or targets (n, columns), the other being null.
template <class Real>
struct Rows {
    const Real* X;
    const int32_t* labels;
    const Real* targets;
    int64_t n;
    const Real* weights;  // of each row, or null where all count the same
};

struct HiddenLayer {
    Activation activation;
    double a, b;  // its parameters, 0 where it has fewer
};

struct OptimizerSettings {
    Optimizer kind;
    bool nesterov;
    double learning_rate, momentum, alpha, beta1, beta2, epsilon, weight_decay;
    int64_t history_size;  // pairs that L-BFGS keeps
};

// How the learning rate changes from step to step (isa/schedules.hpp).
struct Schedule {
    ScheduleKind kind;
    int64_t warmup, step_size, plateau_patience;
    double gamma, eta_min, pct_start, div_factor, final_div_factor;
};

// A run between two steps, in arrays of the caller; isa/state.hpp says what they hold. The first
// counters are: steps done, the next row of the permutation, records, measured steps.
template <class Real>
struct State {
    Real* numbers;
    int32_t* order;
    int64_t* counters;
    double* scalars;
};

struct StateSize {
    int64_t numbers, order, counters, scalars;
};

// What is measured in each layer at steps 0, every, 2 every, ...: (rows, L), or (rows, L - 1) for
// dead and saturated, with room for ceil(steps / every) rows. every 0: nothing.
struct Measures {
    int64_t every;
    int64_t* steps;
    double *gradient_norm, *update_ratio, *dead, *saturated;
};

template <class Real>
struct Job {
    const int32_t* widths;      // d_0 .. d_L
    int32_t n_layers;           // L
    const HiddenLayer* hidden;  // L - 1 of them
    Likelihood likelihood;
    const double* likelihood_parameters;  // in the order of _kernels/heads.py
    int32_t n_likelihood_parameters;
    const Real* class_weights;  // (d_L), or null; both for the categorical likelihood alone
    double label_smoothing;
    OptimizerSettings optimizer;
    Schedule schedule;
    double dropout;             // share of hidden units that a step leaves out, below 1
    double l1, clip_norm;       // penalty l1 |parameters|_1; limit of the gradient's norm, 0: none
    int64_t steps, batch_size, record_every;  // batch_size 0: all rows at every step
    int64_t patience;  // records without a better validation loss before it stops; 0: none
    uint64_t seed;
    Rows<Real> training, validation;  // validation.n == 0: none
    Real* parameters;           // W1 row by row, b1, W2, ...; changed in place
    int64_t* recorded_steps;    // room for ceil(steps / record_every) + 1 records
    double* losses;
    double* validation_losses;  // the same room, or null without validation rows
    Measures measures;
    State<Real> resume;         // where to start; its records are in the arrays above. Null: afresh
    State<Real> pause;          // where a run puts its state in the end unless it diverged, or null
    const int32_t* stop;        // not 0: stop before the next step
    int64_t* progress;          // steps done so far, for whoever watches
    int64_t pause_at;           // stop before this step as well; 0: nowhere
};

struct Outcome {
    Status status;
    int64_t steps_done, n_recorded, n_measured;
    int64_t best_step;  // whose parameters come back under patience; -1: none
};

template <class Real>
struct Kernel {
    const char* isa;
    size_t (*workspace_bytes)(const Job<Real>&);
    StateSize (*state_size)(const Job<Real>&);
    Outcome (*train)(const Job<Real>&, void* workspace);  // workspace: aligned to 64 bytes
    // For tests: the rate of one step, and the vector functions over n numbers.
    double (*learning_rate)(const Job<Real>&, int64_t step);
    void (*apply)(Function, const Real* x, Real* out, int64_t n);
    void (*activate)(const HiddenLayer&, const Real* z, Real* value, Real* slope,
                     int64_t n);
};

}  // namespace pellucid
