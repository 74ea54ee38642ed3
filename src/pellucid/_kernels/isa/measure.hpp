// What is measured in each layer at chosen steps (jobs.py has the definitions): on the way through
// the batch, how many rows leave each hidden unit flat; then norms of the gradient and the update.
#pragma once

#include "network.hpp"

namespace pellucid::PELLUCID_ISA {

// As diagnosis has it: a smooth unit is flat where its slope is below this share of the steepest,
// and saturated where it is flat on more than this share of the rows.
constexpr double flat_share = 0.01, saturated_share = 0.99;

struct Meter {
    int64_t every;     // 0: nothing is measured
    real* before;      // the parameters before the update
    real* flat;        // [hidden unit][lane]: rows that leave it flat, layer after layer
    real* limits;      // of each hidden layer: a slope up to this is flat
    int64_t n_units;
};

inline bool piecewise_linear(Activation a) { return a <= Activation::abs; }

inline Meter plan_meter(const Job& job, int64_t n_parameters, Arena& arena) {
    Meter meter{};
    meter.every = job.measures.every;
    if (meter.every == 0) return meter;
    for (int l = 1; l < job.n_layers; ++l) meter.n_units += job.widths[l];
    meter.before = arena.take<real>(n_parameters);
    meter.flat = arena.take<real>(meter.n_units * L);
    meter.limits = arena.take<real>(job.n_layers - 1);
    return meter;
}

// The largest of 1001 slopes on [-5, 5].
inline real steepest(const HiddenLayer& layer) {
    real largest = 0;
    for (int i = 0; i < 1001; i += L) {
        alignas(64) real z[L], value[L], slope[L];
        for (int k = 0; k < L; ++k) z[k] = real(-5 + 0.01 * (i + k < 1001 ? i + k : 1000));
        activate(layer, z, value, slope, L);
        for (real s : slope) {
            const real size = s < 0 ? -s : s;
            if (size > largest) largest = size;
        }
    }
    return largest;
}

inline void start_meter(const Job& job, Meter& meter) {
    if (meter.every == 0) return;
    for (int l = 0; l + 1 < job.n_layers; ++l)
        meter.limits[l] = piecewise_linear(job.hidden[l].activation)
                              ? real(0) : real(flat_share) * steepest(job.hidden[l]);
}

// Of tile t of a group, between the forward and the backward pass.
template <int VB>
void count_flat(const Network& net, const Meter& meter, int t, int valid) {
    real* flat = meter.flat;
    const vf zero{}, one = all(real(1));
    for (int l = 0; l + 1 < net.n_layers; ++l) {
        const Layer& layer = net.layers[l];
        const bool relu = layer.derivative == Epilogue::relu_mask;
        const real* from = relu ? layer.h : layer.slope;
        const vf limit = all(meter.limits[l]);
        if (!from) {  // the identity: never flat
            flat += int64_t(layer.n_out) * L;
            continue;
        }
        for (int unit = 0; unit < layer.n_out; ++unit) {
            vf rows = load(flat);
            for (int v = 0; v < VB; ++v) {
                const vf s = load(from + ((int64_t(t) * layer.n_out + unit) * VB + v) * L);
                const vf counts = select(lane_numbers() + v * L < valid, one, zero);
                rows += select((relu ? s : abs(s)) <= limit, counts, zero);
            }
            store(flat, rows);
            flat += L;
        }
    }
}

// Euclid's norm of a - b, or of a where b is null, in double.
inline double distance(const real* a, const real* b, int64_t n) {
    return __builtin_sqrt(sum_over(n, [=](int64_t i) {
        const double d = b ? double(a[i]) - double(b[i]) : double(a[i]);
        return d * d;
    }));
}

inline int64_t layer_size(const Layer& layer) { return (int64_t(layer.n_in) + 1) * layer.n_out; }

inline void clear_counts(const Meter& meter) {
    for (int64_t i = 0; i < meter.n_units; ++i) store(meter.flat + i * L, vf{});
}

// Gradient norms and shares of units, from a gradient without dropout over m rows, into row `at`.
inline void measure_gradient(const Job& job, const Network& net, const Meter& meter, int64_t m,
                             int64_t at) {
    const real* flat = meter.flat;
    for (int l = 0; l < net.n_layers; ++l) {
        const Layer& layer = net.layers[l];
        job.measures.gradient_norm[at * net.n_layers + l] =
            distance(net.gradient + layer.offset, nullptr, layer_size(layer));
        if (layer.last) break;
        int64_t dead = 0, saturated = 0;
        for (int unit = 0; unit < layer.n_out; ++unit, flat += L) {
            const double rows = sum(load(flat));
            dead += rows == double(m);
            saturated += rows / double(m) > saturated_share;
        }
        const bool sharp = piecewise_linear(layer.activation.activation);
        const int64_t to = at * (net.n_layers - 1) + l;
        job.measures.dead[to] = sharp ? double(dead) / layer.n_out : 0;
        job.measures.saturated[to] = sharp ? 0 : double(saturated) / layer.n_out;
    }
}

// 0 where nothing moved, also from parameters that are all 0.
inline void measure_update(const Job& job, const Network& net, const Meter& meter, int64_t at) {
    for (int l = 0; l < net.n_layers; ++l) {
        const Layer& layer = net.layers[l];
        const real *now = net.parameters + layer.offset, *before = meter.before + layer.offset;
        const int64_t n = layer_size(layer);
        const double update = distance(now, before, n);
        job.measures.update_ratio[at * net.n_layers + l] =
            update == 0 ? 0 : update / distance(before, nullptr, n);
    }
}

}  // namespace pellucid::PELLUCID_ISA
