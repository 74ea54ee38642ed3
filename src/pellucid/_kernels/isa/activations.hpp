// Activations a(z) and their derivatives a'(z), in one pass over a tile.
//
// Identity and relu do not come here: the matrix product's epilogue does them. At ties the
// derivative is the one from the side that torch takes: relu'(0) = 0, abs'(0) = 0.
#pragma once

#include "job.hpp"
#include "math.hpp"

namespace pellucid::PELLUCID_ISA {

struct Pair {
    vf value, slope;
};

// 1 / (1 + e^-z) from e = e^-|z|, and its derivative s (1 - s) = e / (1 + e)^2
PELLUCID_INLINE Pair logistic(vf z) {
    const vf e = exp(-abs(z)), inverse = 1.0f / (1.0f + e);
    return {select(z > 0.0f, inverse, e * inverse), e * inverse * inverse};
}

template <Activation A>
PELLUCID_INLINE Pair activation(vf z, vf a, vf b) {
    const vf zero{}, one = all(1.0f);
    if constexpr (A == Activation::identity) {
        return {z, one};
    } else if constexpr (A == Activation::relu) {
        return {max(zero, z), select(z > zero, one, zero)};
    } else if constexpr (A == Activation::leaky_relu || A == Activation::prelu) {
        const vf slope = select(z > zero, one, a);
        return {z * slope, slope};
    } else if constexpr (A == Activation::hardtanh) {
        return {max(a, min(b, z)), select((z > a) & (z < b), one, zero)};
    } else if constexpr (A == Activation::abs) {
        return {abs(z), select(z == zero, zero, copy_sign(one, z))};
    } else if constexpr (A == Activation::sigmoid) {
        return logistic(z);
    } else if constexpr (A == Activation::tanh) {
        const vf h = tanh(z);
        return {h, 1.0f - h * h};
    } else if constexpr (A == Activation::elu) {
        const Reduced e = reduce(min(zero, z));
        const vf below = a * (e.scale * e.m + (e.scale - 1.0f));
        const vi right = z > zero;
        return {select(right, z, below), select(right, one, a * (e.scale * e.m + e.scale))};
    } else if constexpr (A == Activation::gelu) {
        // z Phi(z); Phi(z) + z phi(z), with phi the standard normal density
        constexpr real root_half = 0.70710678118654752, inverse_root_2pi = 0.39894228040143268;
        const vf gaussian = exp(-0.5f * z * z);
        const vf Phi = 0.5f + 0.5f * erf(z * root_half, gaussian);
        return {z * Phi, Phi + z * gaussian * inverse_root_2pi};
    } else if constexpr (A == Activation::gelu_tanh) {
        // z (1 + tanh u) / 2 with u = sqrt(2 / pi) (z + .044715 z^3)
        constexpr real c = 0.79788456080286536, k = 0.044715;
        // 1 - tanh^2 as 4 e / (1 + e)^2 with e = e^(-2 |u|): 1 - t t cancels, and the factor
        // z u' makes that visible.
        const vf u = c * (z + k * z * z * z), slope_of_u = c * (1.0f + 3.0f * k * z * z);
        const Reduced r = reduce(-2.0f * abs(u));
        const vf e = r.scale * r.m + r.scale, m = r.scale * r.m + (r.scale - 1.0f);
        const vf inverse = 1.0f / (2.0f + m), t = copy_sign(-m * inverse, z);
        const vf tail = select(e > zero, 2.0f * z * e * inverse * inverse * slope_of_u, zero);
        return {0.5f * z * (1.0f + t), 0.5f * (1.0f + t) + tail};
    } else if constexpr (A == Activation::silu) {
        const Pair s = logistic(z);
        return {z * s.value, s.value + z * s.slope};
    } else if constexpr (A == Activation::softplus) {
        // max(z, 0) + ln(1 + e^-|z|); the logistic function
        const vf e = exp(-abs(z)), inverse = 1.0f / (1.0f + e);
        return {max(zero, z) + log1p(e), select(z > zero, inverse, e * inverse)};
    } else {
        static_assert(A == Activation::softsign);
        const vf inverse = 1.0f / (1.0f + abs(z));
        return {z * inverse, inverse * inverse};
    }
}

// value may be z itself; slope may be null where nobody needs it.
template <Activation A>
void activate_all(const real* z, real a, real b, real* value, real* slope, int64_t n) {
    const vf va = all(a), vb = all(b);
    for (int64_t i = 0; i < n; i += L) {
        const Pair p = activation<A>(load(z + i), va, vb);
        store(value + i, p.value);
        if (slope) store(slope + i, p.slope);
    }
}

// n is a multiple of L.
inline void activate(const HiddenLayer& layer, const real* z, real* value, real* slope,
                     int64_t n) {
    switch (layer.activation) {
#define PELLUCID_CASE(name)                                                                  \
    case Activation::name:                                                                   \
        return activate_all<Activation::name>(z, real(layer.a), real(layer.b), value, slope, n);
        PELLUCID_CASE(identity)
        PELLUCID_CASE(relu)
        PELLUCID_CASE(leaky_relu)
        PELLUCID_CASE(prelu)
        PELLUCID_CASE(hardtanh)
        PELLUCID_CASE(abs)
        PELLUCID_CASE(sigmoid)
        PELLUCID_CASE(tanh)
        PELLUCID_CASE(elu)
        PELLUCID_CASE(gelu)
        PELLUCID_CASE(gelu_tanh)
        PELLUCID_CASE(silu)
        PELLUCID_CASE(softplus)
        PELLUCID_CASE(softsign)
#undef PELLUCID_CASE
        case Activation::count: break;
    }
}

}  // namespace pellucid::PELLUCID_ISA
