// Vectors of the instruction set's own width, in GCC's and Clang's vector extensions.
//
// PELLUCID_ISA names the namespace and PELLUCID_LANES the numbers in a vector. Vectors wider than
// the hardware's are split by the compiler through memory (measured: 12 times slower), so each
// object gets its native width. Everything lives in the instruction set's own namespace: the
// linker must never merge a function of one object with that of another. For the same reason no
// template of the standard library is called here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>  // std::integer_sequence, a type only

#if defined(__AVX512F__)
#include <immintrin.h>
#elif defined(__SSE__)
#include <xmmintrin.h>
#endif

#ifndef PELLUCID_INLINE
#define PELLUCID_INLINE inline __attribute__((always_inline))
#endif

// PELLUCID_SMALL is for a page: fewer kinds of tiles, one form of a loss, and larger functions that
// the rarer likelihoods share.
#if defined(PELLUCID_SMALL)
#define PELLUCID_SHARED inline __attribute__((noinline))
#else
#define PELLUCID_SHARED PELLUCID_INLINE
#endif

namespace pellucid::PELLUCID_ISA {

typedef PELLUCID_REAL real;  // float or double
constexpr int L = PELLUCID_LANES;
constexpr bool many_registers = PELLUCID_REGISTERS >= 32;
#if defined(PELLUCID_SMALL)
constexpr bool is_small = true;
#else
constexpr bool is_small = false;
#endif

// Integers as wide as the numbers: masks, labels, and the bits of a number.
template <size_t BYTES> struct IntegerOf { using type = int64_t; };
template <> struct IntegerOf<4> { using type = int32_t; };
using integer = IntegerOf<sizeof(real)>::type;
constexpr integer sign_bit = integer(1) << (8 * sizeof(real) - 1);

typedef real vf __attribute__((vector_size(L * sizeof(real))));
typedef integer vi __attribute__((vector_size(L * sizeof(real))));
typedef real vf_anywhere
    __attribute__((vector_size(L * sizeof(real)), aligned(sizeof(real)), may_alias));
typedef int32_t vi32 __attribute__((vector_size(L * 4)));

PELLUCID_INLINE vf load(const real* p) { return *reinterpret_cast<const vf*>(p); }
PELLUCID_INLINE void store(real* p, vf a) { *reinterpret_cast<vf*>(p) = a; }
PELLUCID_INLINE vf load_anywhere(const real* p) {
    return *reinterpret_cast<const vf_anywhere*>(p);
}
PELLUCID_INLINE void store_anywhere(real* p, vf a) { *reinterpret_cast<vf_anywhere*>(p) = a; }
PELLUCID_INLINE vi load_integers(const int32_t* p) {
    return __builtin_convertvector(*reinterpret_cast<const vi32*>(p), vi);
}

// x - 0 is x for every x; x + 0 is not (x = -0), and costs an instruction (measured: 30 %).
PELLUCID_INLINE vf all(real x) { return x - vf{}; }

// Both keep a nan in their second argument, so that a diverged network cannot hide behind a clamp.
#if defined(__AVX512F__)  // GCC 12 makes two instructions of the portable form here (measured: 5 %)
PELLUCID_INLINE vf max(vf bound, vf x) {
    if constexpr (sizeof(real) == 4) return vf(_mm512_max_ps(__m512(bound), __m512(x)));
    return vf(_mm512_max_pd(__m512d(bound), __m512d(x)));
}
PELLUCID_INLINE vf min(vf bound, vf x) {
    if constexpr (sizeof(real) == 4) return vf(_mm512_min_ps(__m512(bound), __m512(x)));
    return vf(_mm512_min_pd(__m512d(bound), __m512d(x)));
}
#else
PELLUCID_INLINE vf max(vf bound, vf x) { return bound > x ? bound : x; }
PELLUCID_INLINE vf min(vf bound, vf x) { return bound < x ? bound : x; }
#endif
PELLUCID_INLINE vf select(vi mask, vf a, vf b) { return mask ? a : b; }
PELLUCID_INLINE vf as_float(vi a) { return reinterpret_cast<vf>(a); }
PELLUCID_INLINE vi as_integer(vf a) { return reinterpret_cast<vi>(a); }
PELLUCID_INLINE vf abs(vf a) { return as_float(as_integer(a) & ~sign_bit); }
PELLUCID_INLINE vf copy_sign(vf magnitude, vf sign) {
    return as_float(as_integer(magnitude) | (as_integer(sign) & sign_bit));
}
// |a| < 2^51 in double: only AVX-512 converts 64-bit integers, but the exponent of 1.5 * 2^52 does.
PELLUCID_INLINE vf to_float(vi a) {
    if constexpr (sizeof(real) == 4) return __builtin_convertvector(a, vf);
    const vf magic = all(real(6755399441055744.0));
    return as_float(a + as_integer(magic)) - magic;
}

using Lanes = std::make_integer_sequence<int, L>;

template <int... I>
PELLUCID_INLINE vi lane_numbers(std::integer_sequence<int, I...>) { return vi{I...}; }
PELLUCID_INLINE vi lane_numbers() { return lane_numbers(Lanes{}); }

// Blocks of S lanes: (a0 b0 a2 b2 ..) and (a1 b1 a3 b3 ..), where a1 is a's second block.
template <int S, int HALF, int... I>
PELLUCID_INLINE vf zip_blocks(vf a, vf b, std::integer_sequence<int, I...>) {
#if defined(__clang__)
    return __builtin_shufflevector(a, b, ((I / S % 2 ? L + I - S : I) + HALF * S)...);
#else
    return __builtin_shuffle(a, b, vi{((I / S % 2 ? L + I - S : I) + HALF * S)...});
#endif
}

// rows[i] lane j <-> rows[j] lane i, by log2(L) rounds of exchanging blocks between row pairs.
template <int S = L / 2>
PELLUCID_INLINE void transpose(vf (&rows)[L]) {
    if constexpr (S > 0) {
        for (int k = 0; k < L; ++k)
            if (k / S % 2 == 0) {
                vf a = rows[k], b = rows[k + S];
                rows[k] = zip_blocks<S, 0>(a, b, Lanes{});
                rows[k + S] = zip_blocks<S, 1>(a, b, Lanes{});
            }
        transpose<S / 2>(rows);
    }
}

// Lane i of the result: the sum over the lanes of rows[i].
template <int S = L / 2>
PELLUCID_INLINE vf sum_each(vf (&rows)[L]) {
    if constexpr (S == 0) {
        return rows[0];
    } else {
        for (int k = 0; k < S; ++k)
            rows[k] = zip_blocks<S, 0>(rows[k], rows[k + S], Lanes{}) +
                      zip_blocks<S, 1>(rows[k], rows[k + S], Lanes{});
        return sum_each<S / 2>(rows);
    }
}

PELLUCID_INLINE double sum(vf a) {
    double total = 0;
    for (int i = 0; i < L; ++i) total += a[i];
    return total;
}

// sum over i of term(i), in double: a float's square may overflow in float.
template <class Term>
PELLUCID_INLINE double sum_over(int64_t n, const Term& term) {
    double sums[L] = {}, total = 0;
    int64_t i = 0;
    for (; i + L <= n; i += L)
        for (int k = 0; k < L; ++k) sums[k] += term(i + k);
    for (; i < n; ++i) sums[0] += term(i);
    for (double s : sums) total += s;
    return total;
}

inline double dot(const real* a, const real* b, int64_t n) {
    return sum_over(n, [=](int64_t i) { return double(a[i]) * double(b[i]); });
}

// Flushes subnormal numbers to zero while it lives: with them, dying units slow every product
// (measured: a grid of 64 networks takes 19 % longer). The caller's mode comes back at the end.
class FlushSubnormals {
public:
    FlushSubnormals() {
#if defined(__SSE__)
        saved_ = _mm_getcsr();
        _mm_setcsr(saved_ | 0x8040);  // flush to zero, denormals are zero
#elif defined(__aarch64__)
        __asm__ volatile("mrs %0, fpcr" : "=r"(saved_));
        __asm__ volatile("msr fpcr, %0" : : "r"(saved_ | (1ull << 24)));
#endif
    }
    ~FlushSubnormals() {
#if defined(__SSE__)
        _mm_setcsr(saved_);
#elif defined(__aarch64__)
        __asm__ volatile("msr fpcr, %0" : : "r"(saved_));
#endif
    }
    FlushSubnormals(const FlushSubnormals&) = delete;

private:
#if defined(__SSE__)
    unsigned saved_;
#elif defined(__aarch64__)
    uint64_t saved_;
#endif
};

}  // namespace pellucid::PELLUCID_ISA
