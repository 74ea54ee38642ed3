// Losses in nats and their gradients, on one tile: outputs and delta are [output][row].
//
// delta is d(mean loss) / d(outputs) and may overwrite the outputs; the rows beyond `valid` get 0.
// Divergence is looked for at every step, the loss itself (a logarithm) is computed only where
// somebody records it: `probe` collects 0 from every number that enters the loss, and nan where
// one is not finite.
#pragma once

#include "job.hpp"
#include "math.hpp"

namespace pellucid::PELLUCID_ISA {

struct Targets {
    const int32_t* labels;  // [row], categorical
    const real* values;    // [output][row], the others
    const real* weights;   // [row], or null
    int valid;              // rows of the tile that exist
};

// Class weights (null: 1 each) and label smoothing; `plain` where there is neither.
struct Softening {
    const real* class_weights;
    real smoothing;
    bool plain;
};

struct LossSum {
    double loss = 0;
    vf probe{};

    bool finite() const {
        bool fine = true;
        for (int i = 0; i < L; ++i) fine &= probe[i] == 0.0f;
        return fine;
    }
};

// What one vector of rows adds.
struct RowLoss {
    vf loss, probe;
};

// Two classes: with the margin s = z_y - z_other the loss is ln(1 + e^-s), and the gradient is
// -+ q with q = 1 / (1 + e^s). One exponential instead of two, and no cancellation.
template <int R, bool LOSS>
PELLUCID_INLINE RowLoss two_classes(const real* z, vi label, vf weight, real* delta) {
    const vf d = load(z + R) - load(z);
    const vf s = select(label == 1, d, -d);
    const vf e = exp(-abs(s)), inverse = 1.0f / (1.0f + e);
    const vf q = weight * select(s > 0.0f, e * inverse, inverse);
    store(delta, select(label == 1, q, -q));
    store(delta + R, select(label == 1, -q, q));
    return {LOSS ? max(vf{}, -s) + log1p(e) : vf{}, d * 0.0f};
}

// ln sum_c e^(z_c) - z_y, gradient softmax(z) - onehot(y); t = z - max z keeps e^t below 1.
template <int R, bool LOSS>
PELLUCID_INLINE RowLoss categorical(const real* z, int k, vi label, vf weight, real* delta) {
    vf top = load(z), total{}, t_label{}, probe{};
    for (int c = 1; c < k; ++c) top = max(load(z + c * R), top);
    for (int c = 0; c < k; ++c) {
        const vf t = load(z + c * R) - top, e = exp(t);
        store(delta + c * R, e);
        total += e;
        probe += t * 0.0f;
        if (LOSS) t_label = select(label == c, t, t_label);
    }
    const vf factor = weight / total;
    for (int c = 0; c < k; ++c)
        store(delta + c * R,
              load(delta + c * R) * factor - select(label == c, weight, vf{}));
    return {LOSS ? log(total) - t_label : vf{}, probe};
}

// -sum_c a_c log p_c with a_c = w_c ((1 - s) [c = y] + s / k), gradient p_c sum a - a_c; torch's
// cross entropy with class weights w and label smoothing s.
template <int R>
PELLUCID_INLINE RowLoss soft_categorical(const real* z, int k, vi label, const Softening& soft,
                                         vf weight, real* delta) {
    const vf hit = all(1 - soft.smoothing), floor = all(soft.smoothing / real(k));
    const auto target = [&](int c) {
        const vf a = select(label == c, hit + floor, floor);
        return soft.class_weights ? a * soft.class_weights[c] : a;
    };
    vf top = load(z), total{}, mass{}, dot{}, probe{};
    for (int c = 1; c < k; ++c) top = max(load(z + c * R), top);
    for (int c = 0; c < k; ++c) {
        const vf t = load(z + c * R) - top, e = exp(t), a = target(c);
        store(delta + c * R, e);
        total += e;
        mass += a;
        dot += a * t;
        probe += t * 0.0f;
    }
    const vf factor = mass / total;
    for (int c = 0; c < k; ++c)
        store(delta + c * R, weight * (load(delta + c * R) * factor - target(c)));
    return {mass * log(total) - dot, probe};
}

// Per output: softplus(z) - y z, gradient sigmoid(z) - y.
template <int R, bool LOSS>
PELLUCID_INLINE RowLoss bernoulli(const real* z, int k, const real* y, vf weight, real* delta) {
    RowLoss row{};
    for (int c = 0; c < k; ++c) {
        const vf zc = load(z + c * R), yc = load(y + c * R);
        const vf e = exp(-abs(zc)), inverse = 1.0f / (1.0f + e);
        const vf p = select(zc > 0.0f, inverse, e * inverse);
        store(delta + c * R, (p - yc) * weight);
        if (LOSS) row.loss += max(vf{}, zc) - yc * zc + log1p(e);
        row.probe += zc * 0.0f;
    }
    return row;
}

// Per output, unit variance: (y - mu)^2 / 2 + ln(2 pi) / 2, gradient mu - y.
template <int R>
PELLUCID_INLINE RowLoss gaussian(const real* z, int k, const real* y, vf weight, real* delta) {
    constexpr real half_log_2pi = 0.91893853320467274;
    RowLoss row{};
    for (int c = 0; c < k; ++c) {
        const vf d = load(z + c * R) - load(y + c * R);
        store(delta + c * R, d * weight);
        row.loss += 0.5f * d * d + half_log_2pi;
    }
    row.probe = row.loss * 0.0f;
    return row;
}

// weight: 1 / (rows of the batch, or their total weight). delta is written for the whole tile.
template <int VB, bool LOSS>
void losses(Likelihood likelihood, const Softening& soft, const real* z, int k, const Targets& y,
            real weight, real* delta, LossSum& sum_of) {
    constexpr int R = VB * L;
    vf loss{};
    for (int v = 0; v < VB; ++v) {
        const vi exists = lane_numbers() + v * L < y.valid;
        const int at = v * L;
        vf w = select(exists, all(weight), vf{});
        if (y.weights) w *= load(y.weights + at);
        RowLoss row;
        if (likelihood == Likelihood::categorical) {
            const vi label = load_integers(y.labels + at);
            if (!soft.plain)
                row = soft_categorical<R>(z + at, k, label, soft, w, delta + at);
            else if (k == 2)
                row = two_classes<R, LOSS>(z + at, label, w, delta + at);
            else
                row = categorical<R, LOSS>(z + at, k, label, w, delta + at);
        } else if (likelihood == Likelihood::bernoulli) {
            row = bernoulli<R, LOSS>(z + at, k, y.values + at, w, delta + at);
        } else {
            row = gaussian<R>(z + at, k, y.values + at, w, delta + at);
        }
        if (y.weights) row.loss *= load(y.weights + at);
        loss += select(exists, row.loss, vf{});
        sum_of.probe += select(exists, row.probe, vf{});
    }
    if (LOSS) sum_of.loss += sum(loss);
}

}  // namespace pellucid::PELLUCID_ISA
