// exp, log, tanh and erf on vectors, to a few units in the last place.
//
// Polynomials in vectors take .7 ns an element where libm in a scalar loop takes 13 to 15 (tanh,
// erf). The code is the same in float and double; coefficients.hpp has the numbers.
#pragma once

#include "coefficients.hpp"

namespace pellucid::PELLUCID_ISA {

using C = Coefficients<real>;

// Horner's rule; the highest coefficient comes first.
template <size_t N>
PELLUCID_INLINE vf polynomial(vf x, const real (&c)[N]) {
    vf value = all(c[0]);
    for (size_t k = 1; k < N; ++k) value = value * x + c[k];
    return value;
}

PELLUCID_INLINE float root_of(float x) { return __builtin_sqrtf(x); }
PELLUCID_INLINE double root_of(double x) { return __builtin_sqrt(x); }

// sqrt(x) for x >= 0.
PELLUCID_INLINE vf square_root(vf x) {
    if constexpr (L < 16) {
        vf root;
        for (int i = 0; i < L; ++i) root[i] = root_of(x[i]);  // one instruction for all
        return root;
    }
    // The division that follows in Adam waits for the same slow unit as a hardware square root,
    // at 16 lanes for longer than this takes beside it (measured: a fifth of Adam's time). Two
    // Newton steps for 1 / sqrt(x) from Lomont's (2003) integer guess, then Heron's step (to 2 ulp;
    // below 1e-30, where that step is flushed to 0, to 5e-6).
    x = min(all(3.4e38f), x);  // an infinity would become nan
    vf y = as_float(0x5f375a86 - (as_integer(x) >> 1));
    for (int k = 0; k < 2; ++k) y = y * (1.5f - (0.5f * x * y) * y);
    const vf root = x * y;
    return root + (0.5f * y) * (x - root * root);
}

// x = n ln 2 + r with |r| <= ln(2) / 2, so e^x = 2^n (1 + m) with m = e^r - 1.
struct Reduced {
    vf scale;  // 2^n
    vf m;
};

PELLUCID_INLINE Reduced reduce(vf x) {
    constexpr real log2_e = 1.4426950408889634074;
    // Below -87.7 (double: -708.7) n is -127 (-1023), whose bits are those of 0: e^x is exactly 0.
    x = min(all(C::largest_exponent), max(all(-C::largest_exponent), x));
    const vf shifted = x * log2_e + C::magic;
    const vf n = shifted - C::magic;
    const vf r = (x - n * C::ln2_high) - n * C::ln2_low;
    const vi bits = (as_integer(shifted) - as_integer(all(C::magic)) + C::bias) << C::mantissa_bits;
    const vf q = polynomial(r, C::exp);  // (e^r - 1 - r) / r^2
    return {as_float(bits), r * r * q + r};
}

// e^x for x <= 88 (above, e^88; in double 709); its callers need x <= 0 only. Numbers below the
// normal ones are flushed.
PELLUCID_INLINE vf exp(vf x) {
    const Reduced e = reduce(x);
    return e.scale * e.m + e.scale;
}

// e^x - 1, without cancellation near 0.
PELLUCID_INLINE vf expm1(vf x) {
    const Reduced e = reduce(x);
    return e.scale * e.m + (e.scale - 1.0f);
}

// ln x for finite normal x > 0: x = 2^e m with m in [sqrt(1/2), sqrt(2)), ln m = 2 atanh(s).
PELLUCID_INLINE vf log(vf x) {
    const vi bits = as_integer(x);
    const vi e = (bits - C::root_half_bits) >> C::mantissa_bits;
    const vf m = as_float(bits - (e << C::mantissa_bits));
    const vf s = (m - 1.0f) / (m + 1.0f), s2 = s * s;
    const vf p = polynomial(s2, C::log);  // (2 atanh(s) - 2 s) / s^3
    const vf n = to_float(e);
    return n * C::ln2_high + (2.0f * s + (s * s2 * p + n * C::ln2_low));
}

// ln(1 + u) for 0 <= u <= 1: 2 atanh(s) with s = u / (2 + u) <= 1/3.
PELLUCID_INLINE vf log1p(vf u) {
    const vf s = u / (2.0f + u), s2 = s * s;
    return 2.0f * s + s * s2 * polynomial(s2, C::log1p);
}

// tanh |x| = -m / (2 + m) with m = e^(-2 |x|) - 1. (1 - 2 / (1 + e^(2x)) cancels near 0:
// relative error 1e-4.)
PELLUCID_INLINE vf tanh(vf x) {
    const vf m = expm1(-2.0f * abs(x));
    return copy_sign(-m / (2.0f + m), x);
}

// erf(x); `gaussian` is e^(-x^2), which its callers have at hand.
PELLUCID_INLINE vf erf(vf x, vf gaussian) {
    const vf a = min(all(C::erf_is_1), abs(x));
    const vf small = a * polynomial(a * a, C::erf);
    const vf t = 1.0f / (1.0f + real(0.4) * a);
    const vf tail = t * polynomial(t, C::erfc);  // erfc(a) e^(a^2)
    return copy_sign(select(a < 1.0f, small, 1.0f - tail * gaussian), x);
}

}  // namespace pellucid::PELLUCID_ISA
