// The affine map of one layer's pre-activations on the current cell, with its error bound.
// The numbers in brackets are those of the proof in predicates.hpp.
#pragma once

#include "doubles.hpp"

namespace pellucid::PELLUCID_ISA {

constexpr double U = 0x1p-53;
constexpr double TINY = 1e-280;
constexpr double UP = 1.000001;  // covers the roundings of the bounds themselves

PELLUCID_INLINE int64_t padded(int64_t n) { return (n + PAD - 1) / PAD * PAD; }
PELLUCID_INLINE int64_t words(int64_t bits) { return (bits + 63) / 64; }

// A layer's weights by column, and what bounds need to know of them.
struct Columns {
    int64_t units = 0, inputs = 0, stride = 0;
    double* W = nullptr;        // inputs x stride
    double* b = nullptr;        // stride
    double* largest = nullptr;  // max_i |W_ij| of each column
    double row_sum = 0;         // R = max_i sum_j |W_ij|
    double row_norm = 0;        // max_i sqrt(sum_j W_ij^2)
    double spectral = 0;        // S: W's largest singular value is at most this
    double b_largest = 0;
    double steepest = 0;  // the largest |slope| of the layer's own activation
    double kink_largest = 0;
};

template <int DIM>
struct Term {
    int64_t column;
    double a[DIM], c;  // what the column is multiplied by
};

// z_i = a[0][i] x_0 + ... + c[i]
template <int DIM>
struct AffineMap {
    double *a[DIM] = {}, *c = nullptr;  // padded with zeros
    double err = 0;                     // (1): of every entry
    double err2 = 0;  // (1): square root of the sum of squares over units, of each of a and c
    double rho = 0;                     // the part of it from this layer's roundings
    double largest = 0;                 // m of (3)
    double largest_c = 0;
    uint64_t version = 0, built_on = 0;  // of this map; of the map before it was composed from
    int64_t updates = 0;
    uint64_t* pattern = nullptr;  // of the layer before
};

struct RowSums {
    double magnitudes, squares;
};

// Of a row that need not be aligned.
inline RowSums row_sums(const double* row, int64_t n) {
    vd magnitudes{}, squares{};
    int64_t j = 0;
    for (; j + D <= n; j += D) {
        const vd w = load_any(row + j);
        magnitudes += abs(w);
        squares += w * w;
    }
    RowSums sums{0, 0};
    for (int k = 0; k < D; ++k) sums.magnitudes += magnitudes[k], sums.squares += squares[k];
    for (; j < n; ++j) sums.magnitudes += magnitude(row[j]), sums.squares += row[j] * row[j];
    return sums;
}

// sum a_j b_j, or sum |a_j| b_j
template <bool MAGNITUDES>
inline double dot(const double* a, const double* b, int64_t n) {
    vd sums[4] = {};
    int64_t j = 0;
    for (; j + 4 * D <= n; j += 4 * D)
        for (int k = 0; k < 4; ++k) {
            const vd x = load_any(a + j + k * D);
            sums[k] += (MAGNITUDES ? abs(x) : x) * load_any(b + j + k * D);
        }
    const vd all_sums = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    double sum = 0;
    for (int k = 0; k < D; ++k) sum += all_sums[k];
    for (; j < n; ++j) sum += (MAGNITUDES ? magnitude(a[j]) : a[j]) * b[j];
    return sum;
}

// (3) without the vertex's part
template <int DIM>
PELLUCID_INLINE double evaluation_error(const AffineMap<DIM>& map) {
    return map.err + (DIM + 3) * U * map.largest;
}

// One block of B vectors of units: A += sum of columns times terms.
template <int B, int DIM>
PELLUCID_INLINE void accumulate_block(AffineMap<DIM>& map, const double* from_c, bool fresh,
                                      const Columns& layer, const Term<DIM>* terms,
                                      int64_t n_terms, int64_t i, vd& top, vd& top_c) {
    vd a[DIM][B], c[B];
    for (int k = 0; k < B; ++k) {
        for (int d = 0; d < DIM; ++d) a[d][k] = fresh ? vd{} : load(map.a[d] + i + k * D);
        c[k] = load(from_c + i + k * D);
    }
    for (int64_t t = 0; t < n_terms; ++t) {
        const double* column = layer.W + terms[t].column * layer.stride + i;
        vd w[B];
        for (int k = 0; k < B; ++k) w[k] = load(column + k * D);
        for (int d = 0; d < DIM; ++d) {
            const vd g = all(terms[t].a[d]);
            for (int k = 0; k < B; ++k) a[d][k] += w[k] * g;
        }
        const vd gc = all(terms[t].c);
        for (int k = 0; k < B; ++k) c[k] += w[k] * gc;
    }
    for (int k = 0; k < B; ++k) {
        for (int d = 0; d < DIM; ++d) {
            store(map.a[d] + i + k * D, a[d][k]);
            top = max(top, abs(a[d][k]));
        }
        store(map.c + i + k * D, c[k]);
        top_c = max(top_c, abs(c[k]));
    }
}

// S^4 <= |G G|_F with G = W W^T (Frobenius norm); G takes units x stride numbers. The roundings of
// both products are far below the last term.
inline double spectral_bound(const Columns& layer, double* G) {
    const int64_t n = layer.units, stride = layer.stride;
    double square = 0, total = 0;
    for (int64_t i = 0; i < n * stride; ++i) G[i] = 0;
    for (int64_t j = 0; j < layer.inputs; ++j) {
        const double* w = layer.W + j * stride;
        for (int64_t i = 0; i < n; ++i) {
            square += w[i] * w[i];
            for (int64_t k = 0; k < stride; k += D)
                store(G + i * stride + k, load(G + i * stride + k) + all(w[i]) * load(w + k));
        }
    }
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t k = 0; k < stride; k += D) {
            vd sum{};
            for (int64_t j = 0; j < n; ++j) sum += all(G[i * stride + j]) * load(G + j * stride + k);
            sum *= sum;
            for (int d = 0; d < D; ++d) total += sum[d];
        }
    }
    if (!(total > 1e-250)) return UP * __builtin_sqrt(square);  // eighth powers of weights underflow
    return UP * __builtin_sqrt(__builtin_sqrt(__builtin_sqrt(total) + 1e-9 * square * square));
}

// A fresh map: (0, 0, b) plus the terms; otherwise the old map plus the terms.
template <int DIM>
inline void accumulate(AffineMap<DIM>& map, const Columns& layer, const AffineMap<DIM>& before,
                       double steepest_before, const Term<DIM>* terms, int64_t n_terms, double sum_terms,
                       double largest_term, bool fresh, double reach) {
    const double start = fresh ? layer.b_largest : larger(map.largest, map.largest_c);
    const double* from_c = fresh ? layer.b : map.c;
    vd top{}, top_c{};
    int64_t i = 0;
    constexpr int B = DIM <= 3 ? 4 : 2;
    for (; i + B * D <= layer.stride; i += B * D)
        accumulate_block<B>(map, from_c, fresh, layer, terms, n_terms, i, top, top_c);
    for (; i < layer.stride; i += D)
        accumulate_block<1>(map, from_c, fresh, layer, terms, n_terms, i, top, top_c);
    const double M = start + smaller(sum_terms, layer.row_sum * largest_term);
    map.rho = (fresh ? 0 : map.rho) + double(2 * n_terms + 8) * U * M * UP;
    const double by_sums = layer.row_sum * before.err, by_norms = layer.row_norm * before.err2;
    map.err = (smaller(by_sums, by_norms) * steepest_before + map.rho + TINY) * UP;
    const double root = __builtin_sqrt(double(layer.units));
    map.err2 = (layer.spectral * steepest_before * before.err2 + root * (map.rho + TINY)) * UP;
    map.err2 = smaller(map.err2, root * map.err * UP);
    map.largest_c = highest(top_c);
    map.largest = larger(highest(top), map.largest_c + layer.kink_largest);
    if (!(M * reach < 1e300)) map.err = map.err2 = __builtin_inf();  // something may have overflowed on the way
    map.updates = fresh ? 0 : map.updates + n_terms;
    ++map.version;
}

}  // namespace pellucid::PELLUCID_ISA
