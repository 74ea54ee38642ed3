// The numbers that exp, log and erf are made of, for each number type (math.hpp says of what).
//
// Polynomials, the highest coefficient first: Chebyshev interpolation in 50 digits or more, on the
// stated interval. The stated error is the interpolation's, below the type's own rounding
// (6e-8 in float, 1.1e-16 in double).
#pragma once

#include "vec.hpp"

namespace pellucid::PELLUCID_ISA {

template <class Real>
struct Coefficients;

template <>
struct Coefficients<float> {
    static constexpr int mantissa_bits = 23, bias = 127;
    static constexpr int32_t root_half_bits = 0x3f3504f3;  // sqrt(1/2)
    static constexpr float magic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
    static constexpr float largest_exponent = 88.0f;
    static constexpr float ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
    // (e^r - 1 - r) / r^2 on |r| < .35; error of e^r below 9e-9
    static constexpr float exp[] = {0.00139269266f, 0.00836377387f, 0.0416665501f, 0.166665734f,
                                    0.5f};
    // (2 atanh(s) - 2 s) / s^3 in s^2 < .0295; error below 2e-11
    static constexpr float log[] = {0.233329128f, 0.285507308f, 0.400001226f, 0.666666666f};
    // the same in s^2 < 1/9; error below 1.1e-11
    static constexpr float log1p[] = {0.207876169f, 0.174647025f, 0.222647112f,
                                      0.285703057f, 0.400000108f, 0.666666667f};
    static constexpr float erf_is_1 = 4.0f;  // erf(4) = 1 - 1.5e-8
    // erf(a) / a in a^2 on [0, 1]; error below 2e-9
    static constexpr float erf[] = {7.87587506e-05f, -0.000801686429f, 0.00518908742f,
                                    -0.026854212f,   0.112835947f,     -0.376126267f,
                                    1.12837917f};
    // erfc(a) e^(a^2) / t in t = 1 / (1 + 0.4 a) on 1 <= a <= 4; error below 3e-9
    static constexpr float erfc[] = {-0.107933622f, 0.215714927f, 0.0466593762f, 0.185248253f,
                                     0.209947171f,  0.224335012f, 0.225831556f};
};

template <>
struct Coefficients<double> {
    static constexpr int mantissa_bits = 52, bias = 1023;
    static constexpr int64_t root_half_bits = 0x3fe6a09e667f3bcd;
    static constexpr double magic = 6755399441055744.0;  // 1.5 * 2^52
    static constexpr double largest_exponent = 709.0;
    static constexpr double ln2_high = 0x1.62e42feep-1, ln2_low = 0x1.a39ef35793c76p-33;
    // as above, in the same order: |r| < .35, error of e^r below 1.3e-17
    static constexpr double exp[] = {2.510038549551032e-08,  2.7620088445409746e-07,
                                     2.7557268459997064e-06, 2.4801521295954376e-05,
                                     0.00019841269863053618, 0.0013888888917213717,
                                     0.008333333333330062,   0.04166666666662413,
                                     0.16666666666666669,    0.5000000000000001};
    // error below 5e-18
    static constexpr double log[] = {0.14616585424888623, 0.15331710618210773, 0.18182889455674947,
                                     0.22222211130259878, 0.2857142862600327,  0.39999999999899444,
                                     0.666666666666667};
    // error below 6e-18
    static constexpr double log1p[] = {0.1616404561194353,  0.08800738486144674,
                                       0.12001072809590713, 0.13314144209654935,
                                       0.15385570064958623, 0.18181789436132859,
                                       0.22222222717427864, 0.2857142856710876,
                                       0.40000000000014585, 0.6666666666666666};
    static constexpr double erf_is_1 = 6.0;  // erf(6) = 1 - 2e-17
    // error below 8e-18
    static constexpr double erf[] = {-7.795898827002142e-10,  1.3720064546777686e-08,
                                     -1.6208483801871705e-07, 1.6447424703317362e-06,
                                     -1.492473690741966e-05,  0.00012055294904839707,
                                     -0.0008548325975389692,  0.0052239776071164225,
                                     -0.02686617064323777,    0.11283791670945006,
                                     -0.37612638903183543,    1.1283791670955126};
    // on 1 <= a <= 6; error of erf below 3e-17
    static constexpr double erfc[] = {-0.013731543820106896, 0.07784021837984366,
                                      -0.16388976474135986,  0.10599529812360549,
                                      0.1513875463237059,    -0.33874296172537316,
                                      0.29104902623686607,   -0.21263050773428527,
                                      0.1067256208387509,    0.03806035749268619,
                                      0.12846852448537024,   0.17037356123238873,
                                      0.20775137629334758,   0.22566688208812935,
                                      0.22567611736267193};
};

}  // namespace pellucid::PELLUCID_ISA
