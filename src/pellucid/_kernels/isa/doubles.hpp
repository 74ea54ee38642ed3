// Vectors of doubles for the region kernels. Like vec.hpp: each instruction set has its own
// namespace, and no template of the standard library is called.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#ifndef PELLUCID_INLINE
#define PELLUCID_INLINE inline __attribute__((always_inline))
#endif

namespace pellucid::PELLUCID_ISA {

#if defined(__AVX512F__)
constexpr int D = 8;
#elif defined(__AVX2__)
constexpr int D = 4;
#else
constexpr int D = 2;
#endif
constexpr int PAD = 8;  // rows of switches are padded to this many

typedef double vd __attribute__((vector_size(D * 8)));
typedef float vf __attribute__((vector_size(D * 8)));
typedef int32_t vi __attribute__((vector_size(D * 8)));

PELLUCID_INLINE vd load(const double* p) { return *reinterpret_cast<const vd*>(p); }
PELLUCID_INLINE vd load_any(const double* p) {  // where p need not be aligned
    vd a;
    __builtin_memcpy(&a, p, sizeof a);
    return a;
}
PELLUCID_INLINE vf floats(const float* p) {
    vf a;
    __builtin_memcpy(&a, p, sizeof a);
    return a;
}
PELLUCID_INLINE vf every(float x) { return x - vf{}; }
PELLUCID_INLINE void store(double* p, vd a) { *reinterpret_cast<vd*>(p) = a; }
PELLUCID_INLINE vd all(double x) { return x - vd{}; }

// max and min of two keep the second where the comparison fails; bits[i]: a_i > b_i.
#if defined(__AVX512F__)
PELLUCID_INLINE vd max(vd a, vd b) { return vd(_mm512_max_pd(__m512d(a), __m512d(b))); }
PELLUCID_INLINE vd min(vd a, vd b) { return vd(_mm512_min_pd(__m512d(a), __m512d(b))); }
PELLUCID_INLINE vd abs(vd a) { return vd(_mm512_abs_pd(__m512d(a))); }
PELLUCID_INLINE unsigned greater(vd a, vd b) {
    return _mm512_cmp_pd_mask(__m512d(a), __m512d(b), _CMP_GT_OQ);
}
#elif defined(__AVX2__)
PELLUCID_INLINE vd max(vd a, vd b) { return vd(_mm256_max_pd(__m256d(a), __m256d(b))); }
PELLUCID_INLINE vd min(vd a, vd b) { return vd(_mm256_min_pd(__m256d(a), __m256d(b))); }
PELLUCID_INLINE vd abs(vd a) { return vd(_mm256_andnot_pd(_mm256_set1_pd(-0.0), __m256d(a))); }
PELLUCID_INLINE unsigned greater(vd a, vd b) {
    return unsigned(_mm256_movemask_pd(_mm256_cmp_pd(__m256d(a), __m256d(b), _CMP_GT_OQ)));
}
#elif defined(__SSE2__)
PELLUCID_INLINE vd max(vd a, vd b) { return vd(_mm_max_pd(__m128d(a), __m128d(b))); }
PELLUCID_INLINE vd min(vd a, vd b) { return vd(_mm_min_pd(__m128d(a), __m128d(b))); }
PELLUCID_INLINE vd abs(vd a) { return vd(_mm_andnot_pd(_mm_set1_pd(-0.0), __m128d(a))); }
PELLUCID_INLINE unsigned greater(vd a, vd b) {
    return unsigned(_mm_movemask_pd(_mm_cmpgt_pd(__m128d(a), __m128d(b))));
}
#else
PELLUCID_INLINE vd max(vd a, vd b) { return a > b ? a : b; }
PELLUCID_INLINE vd min(vd a, vd b) { return a < b ? a : b; }
PELLUCID_INLINE vd abs(vd a) { return a < 0 ? -a : a; }
PELLUCID_INLINE unsigned greater(vd a, vd b) {
    unsigned bits = 0;
    for (int i = 0; i < D; ++i) bits |= unsigned(a[i] > b[i]) << i;
    return bits;
}
#endif

// bits[i]: `of` has one bit that masks[i] has not (or none), for D masks.
PELLUCID_INLINE unsigned single_bits(uint64_t of, const uint64_t* masks) {
#if defined(__AVX512F__)
    const __m512i rest = _mm512_andnot_si512(_mm512_loadu_si512(masks), _mm512_set1_epi64(int64_t(of)));
    return _mm512_testn_epi64_mask(rest, _mm512_add_epi64(rest, _mm512_set1_epi64(-1)));
#elif defined(__AVX2__)
    const __m256i all_masks = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(masks));
    const __m256i rest = _mm256_andnot_si256(all_masks, _mm256_set1_epi64x(int64_t(of)));
    const __m256i lower = _mm256_and_si256(rest, _mm256_add_epi64(rest, _mm256_set1_epi64x(-1)));
    return unsigned(_mm256_movemask_pd(
        _mm256_castsi256_pd(_mm256_cmpeq_epi64(lower, _mm256_setzero_si256()))));
#else
    unsigned bits = 0;
    for (int i = 0; i < D; ++i) {
        const uint64_t rest = of & ~masks[i];
        bits |= unsigned((rest & (rest - 1)) == 0) << i;
    }
    return bits;
#endif
}

PELLUCID_INLINE double highest(vd a) {
#if defined(__AVX512F__)
    return _mm512_reduce_max_pd(__m512d(a));
#else
    double m = a[0];
    for (int i = 1; i < D; ++i) m = a[i] > m ? a[i] : m;
    return m;
#endif
}
PELLUCID_INLINE double larger(double a, double b) { return a > b ? a : b; }
PELLUCID_INLINE double smaller(double a, double b) { return a < b ? a : b; }
PELLUCID_INLINE double magnitude(double a) { return __builtin_fabs(a); }
PELLUCID_INLINE vd magnitude(vd a) { return abs(a); }

// Of N numbers, half and half.
template <int N>
PELLUCID_INLINE double total(const double* a) {
    if constexpr (N == 1) return a[0];
    else return total<N / 2>(a) + total<N - N / 2>(a + N / 2);
}
template <int N>
PELLUCID_INLINE double largest_of(const double* a) {
    if constexpr (N == 1) return a[0];
    else return larger(largest_of<N / 2>(a), largest_of<N - N / 2>(a + N / 2));
}

// A growing array of plain things; `ok` turns false where memory ends.
template <class T>
struct Stack {
    Growing memory;
    int64_t size = 0;

    T* data() { return static_cast<T*>(memory.data); }
    const T* data() const { return static_cast<const T*>(memory.data); }
    T& operator[](int64_t i) { return data()[i]; }
    const T& operator[](int64_t i) const { return data()[i]; }
    PELLUCID_INLINE bool room(int64_t more) {
        const size_t bytes = size_t(size + more) * sizeof(T);
        return bytes <= memory.capacity || memory.reserve(bytes);
    }
    PELLUCID_INLINE bool push(const T& value) {
        if (!room(1)) return false;
        data()[size++] = value;
        return true;
    }
};

}  // namespace pellucid::PELLUCID_ISA
