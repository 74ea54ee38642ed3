// One update of all parameters, as torch defines it (SGD without dampening, RMSprop
// that is not centered, Adam, AdamW).
#pragma once

#include "job.hpp"
#include "math.hpp"

namespace pellucid::PELLUCID_ISA {

// Everything is padded to a multiple of L; the padding's gradient is 0.
struct Moments {
    real* parameters;
    const real* gradient;
    real* first;   // momentum or mean gradient
    real* second;  // mean squared gradient
    int64_t n;
    double beta1_power, beta2_power;  // beta^t
};

// g += decay p; v = momentum v + g; p -= lr (nesterov ? g + momentum v : v)
template <bool MOMENTUM>
void sgd(const OptimizerSettings& s, double rate, const Moments& m) {
    const real lr = real(rate), mu = real(s.momentum);
    const real decay = real(s.weight_decay);
    for (int64_t i = 0; i < m.n; i += L) {
        const vf p = load(m.parameters + i);
        vf g = load(m.gradient + i) + decay * p;
        if (MOMENTUM) {
            const vf v = mu * load(m.first + i) + g;
            store(m.first + i, v);
            g = s.nesterov ? g + mu * v : v;
        }
        store(m.parameters + i, p - lr * g);
    }
}

// v = alpha v + (1 - alpha) g^2; r = g / (sqrt(v) + eps); b = momentum b + r; p -= lr b
template <bool MOMENTUM>
void rmsprop(const OptimizerSettings& s, double rate, const Moments& m) {
    const real lr = real(rate), mu = real(s.momentum);
    const real decay = real(s.weight_decay), eps = real(s.epsilon);
    const real alpha = real(s.alpha), c = real(1 - s.alpha);
    for (int64_t i = 0; i < m.n; i += L) {
        const vf p = load(m.parameters + i);
        const vf g = load(m.gradient + i) + decay * p;
        const vf v = alpha * load(m.second + i) + c * g * g;
        store(m.second + i, v);
        vf r = g / (square_root(v) + eps);
        if (MOMENTUM) {
            r += mu * load(m.first + i);
            store(m.first + i, r);
        }
        store(m.parameters + i, p - lr * r);
    }
}

// m += (1 - b1)(g - m); v = b2 v + (1 - b2) g^2
// p -= lr / (1 - b1^t) m / (sqrt(v) / sqrt(1 - b2^t) + eps)
inline void adam(const OptimizerSettings& s, double rate, const Moments& m) {
    const bool decoupled = s.kind == Optimizer::adamw;
    const real coupled_decay = decoupled ? 0.0f : real(s.weight_decay);
    const real shrink = decoupled ? real(1 - rate * s.weight_decay) : 1.0f;
    const real step = real(rate / (1 - m.beta1_power));
    const real root_scale = real(1 / __builtin_sqrt(1 - m.beta2_power));
    const real b2 = real(s.beta2), c1 = real(1 - s.beta1), c2 = real(1 - s.beta2);
    const real eps = real(s.epsilon);
    for (int64_t i = 0; i < m.n; i += L) {
        vf p = load(m.parameters + i);
        const vf g = load(m.gradient + i) + coupled_decay * p;
        p *= shrink;
        vf first = load(m.first + i), second = load(m.second + i);
        first += c1 * (g - first);
        second = b2 * second + c2 * g * g;
        store(m.first + i, first);
        store(m.second + i, second);
        store(m.parameters + i, p - step * first / (square_root(second) * root_scale + eps));
    }
}

inline void update(const OptimizerSettings& s, double rate, Moments& m) {
    if (s.kind == Optimizer::sgd) {
        if (s.momentum != 0)
            sgd<true>(s, rate, m);
        else
            sgd<false>(s, rate, m);
    } else if (s.kind == Optimizer::rmsprop) {
        if (s.momentum != 0)
            rmsprop<true>(s, rate, m);
        else
            rmsprop<false>(s, rate, m);
    } else {
        m.beta1_power *= s.beta1;
        m.beta2_power *= s.beta2;
        adam(s, rate, m);
    }
}

}  // namespace pellucid::PELLUCID_ISA
