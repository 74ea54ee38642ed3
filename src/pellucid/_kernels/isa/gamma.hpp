// What is left of log-gammas when Stirling's terms are taken out, on vectors; likelihoods/special.py
// has the same functions with their reasons. Own code: the standard lgamma is a scalar function, and
// its sign is a global variable, which threads share.
#pragma once

#include "math.hpp"

namespace pellucid::PELLUCID_ISA {

// The series are used from `series_from` on.
constexpr int series_from = sizeof(real) == 4 ? 3 : 10;
constexpr real stirling[] = {43867.0 / 244188,
                              -3617.0 / 122400, 1.0 / 156,  -691.0 / 360360, 1.0 / 1188,
                             -1.0 / 1680,      1.0 / 1260, -1.0 / 360,      1.0 / 12};
constexpr real half_steps[] = {-3202291.0 / 8912896,
                                929569.0 / 15728640, -5461.0 / 425984, 691.0 / 180224,
                               -31.0 / 18432,       17.0 / 14336,     -1.0 / 640,
                               1.0 / 192,           -1.0 / 8};

// sum_k c_k x^(1 - 2k), and its derivative.
template <size_t N>
PELLUCID_INLINE vf series(vf x, const real (&c)[N]) {
    const vf w = 1.0f / x;
    return w * polynomial(w * w, c);
}

template <size_t N>
PELLUCID_INLINE vf slope_series(vf x, const real (&c)[N]) {
    const vf w = 1.0f / x, w2 = w * w;
    vf value = all(c[0] * (1 - 2 * real(N)));
    for (size_t k = 1; k < N; ++k) value = value * w2 + c[k] * (1 - 2 * real(N - k));
    return w2 * value;
}

// ln(1 + v) for v > -1; one_plus_v is 1 + v, from its own terms where v is not near 0.
PELLUCID_SHARED vf log_near_1(vf v, vf one_plus_v) {
    const vi near = abs(v) < 0.5f;
    const vf u = select(near, v, vf{}), s = u / (2.0f + u), s2 = s * s;
    const vf close = 2.0f * s + s * s2 * polynomial(s2, C::log1p);
    return select(near, close, log(select(near, all(1.0f), one_plus_v)));
}

struct Shifted {
    vi small;
    vf large, low;  // x, or x + series_from where it is small; x where it is small, else 1
};

PELLUCID_INLINE Shifted shifted(vf x) {
    const vi small = x < real(series_from);
    return {small, select(small, x + real(series_from), x), select(small, x, all(1.0f))};
}

// ln Gamma(x) - (x - 1/2) ln x + x - ln(2 pi) / 2, for x > 0.
PELLUCID_SHARED vf binet(vf x) {
    const Shifted at = shifted(x);
    const vf top = at.low + real(series_from);
    vf product = at.low;
    for (int k = 1; k < series_from; ++k) product *= at.low + real(k);
    const vf shift = (top - 0.5f) * log(top) - (at.low - 0.5f) * log(at.low) -
                     real(series_from) - log(product);
    return series(at.large, stirling) + select(at.small, shift, vf{});
}

// Its derivative: digamma(x) - ln x + 1 / (2 x).
PELLUCID_SHARED vf binet_slope(vf x) {
    const Shifted at = shifted(x);
    const vf top = at.low + real(series_from);
    vf over{}, under = all(1.0f);  // over / under = sum 1 / (x + k)
    for (int k = 1; k < series_from; ++k) {
        const vf x_k = at.low + real(k);
        over = over * x_k + under;
        under *= x_k;
    }
    const vf shift = log(top) - log(at.low) - 0.5f / top - 0.5f / at.low - over / under;
    return slope_series(at.large, stirling) + select(at.small, shift, vf{});
}

// ln Gamma(x + 1/2) - ln Gamma(x) - ln(x) / 2, for x > 0.
PELLUCID_SHARED vf half_step(vf x) {
    const Shifted at = shifted(x);
    vf over = all(1.0f), under = all(1.0f);
    for (int k = 0; k < series_from; ++k) {
        over *= at.low + (real(k) + 0.5f);
        under *= at.low + real(k);
    }
    const vf shift =
        0.5f * (log(at.low + real(series_from)) - log(at.low)) - log(over / under);
    return series(at.large, half_steps) + select(at.small, shift, vf{});
}

PELLUCID_SHARED vf half_step_slope(vf x) {
    const Shifted at = shifted(x);
    vf over{}, under = all(1.0f);  // over / under = sum 1 / ((x + k) (x + k + 1/2))
    for (int k = 0; k < series_from; ++k) {
        const vf pair = (at.low + real(k)) * (at.low + (real(k) + 0.5f));
        over = over * pair + under;
        under *= pair;
    }
    const vf shift =
        0.5f * (1.0f / (at.low + real(series_from)) - 1.0f / at.low + over / under);
    return slope_series(at.large, half_steps) + select(at.small, shift, vf{});
}

}  // namespace pellucid::PELLUCID_ISA
