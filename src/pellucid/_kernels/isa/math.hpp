// exp, log, tanh and erf on vectors, to a few units in the last place.
//
// Polynomials in vectors take .7 ns an element where libm in a scalar loop takes 13 to 15 (tanh,
// erf). Coefficients: Chebyshev interpolation in 50 digits of the function that each comment
// names, on the stated interval; the stated error is the interpolation's, below float32's 6e-8.
#pragma once

#include "vec.hpp"

namespace pellucid::PELLUCID_ISA {

// Horner's rule; the highest coefficient comes first.
PELLUCID_INLINE vf horner(vf, vf value) { return value; }
template <class... Rest>
PELLUCID_INLINE vf horner(vf x, vf value, real next, Rest... rest) {
    return horner(x, value * x + next, rest...);
}
template <class... Rest>
PELLUCID_INLINE vf polynomial(vf x, real first, Rest... rest) {
    return horner(x, all(first), rest...);
}

// sqrt(x) for x >= 0.
PELLUCID_INLINE vf square_root(vf x) {
    if constexpr (L < 16) {
        vf root;
        for (int i = 0; i < L; ++i) root[i] = __builtin_sqrtf(x[i]);  // one instruction for all
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
    constexpr real log2_e = 1.44269504f, ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
    constexpr real magic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
    // Below -87.7 n is -127, whose bits are those of 0: e^x is exactly 0 there.
    x = min(all(88.0f), max(all(-88.0f), x));
    const vf shifted = x * log2_e + magic;
    const vf n = shifted - magic;
    const vf r = (x - n * ln2_high) - n * ln2_low;
    const vi bits = (as_integer(shifted) - as_integer(all(magic)) + 127) << 23;
    // (e^r - 1 - r) / r^2 on |r| < .35; error of e^r below 9e-9
    const vf q = polynomial(r, 0.00139269266f, 0.00836377387f, 0.0416665501f, 0.166665734f, 0.5f);
    return {as_float(bits), r * r * q + r};
}

// e^x for x <= 88 (above, e^88); its callers need x <= 0 only. Terms below 2^-126 are flushed.
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
    constexpr real ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
    const vi bits = as_integer(x);
    const vi e = (bits - 0x3f3504f3) >> 23;
    const vf m = as_float(bits - (e << 23));
    const vf s = (m - 1.0f) / (m + 1.0f), s2 = s * s;
    // (2 atanh(s) - 2 s) / s^3 on s^2 < .0295; error below 2e-11
    const vf p = polynomial(s2, 0.233329128f, 0.285507308f, 0.400001226f, 0.666666666f);
    const vf n = to_float(e);
    return n * ln2_high + (2.0f * s + (s * s2 * p + n * ln2_low));
}

// ln(1 + u) for 0 <= u <= 1: 2 atanh(s) with s = u / (2 + u) <= 1/3.
PELLUCID_INLINE vf log1p(vf u) {
    const vf s = u / (2.0f + u), s2 = s * s;
    // (2 atanh(s) - 2 s) / s^3 on s^2 < 1/9; error below 1.1e-11
    const vf p = polynomial(s2, 0.207876169f, 0.174647025f, 0.222647112f, 0.285703057f,
                            0.400000108f, 0.666666667f);
    return 2.0f * s + s * s2 * p;
}

// tanh |x| = -m / (2 + m) with m = e^(-2 |x|) - 1. (1 - 2 / (1 + e^(2x)) cancels near 0:
// relative error 1e-4.)
PELLUCID_INLINE vf tanh(vf x) {
    const vf m = expm1(-2.0f * abs(x));
    return copy_sign(-m / (2.0f + m), x);
}

// erf(x); `gaussian` is e^(-x^2), which its callers have at hand.
PELLUCID_INLINE vf erf(vf x, vf gaussian) {
    const vf a = min(all(4.0f), abs(x));  // erf(4) = 1 - 1.5e-8
    const vf a2 = a * a;
    // erf(a) / a in a^2 on [0, 1]; error below 2e-9
    const vf small = a * polynomial(a2, 7.87587506e-05f, -0.000801686429f, 0.00518908742f,
                                    -0.026854212f, 0.112835947f, -0.376126267f, 1.12837917f);
    // erfc(a) e^(a^2) / t in t = 1 / (1 + 0.4 a) on 1 <= a <= 4; error below 3e-9
    const vf t = 1.0f / (1.0f + 0.4f * a);
    const vf tail = t * polynomial(t, -0.107933622f, 0.215714927f, 0.0466593762f, 0.185248253f,
                                   0.209947171f, 0.224335012f, 0.225831556f);
    return copy_sign(select(a < 1.0f, small, 1.0f - tail * gaussian), x);
}

}  // namespace pellucid::PELLUCID_ISA
