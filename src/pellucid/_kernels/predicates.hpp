// The only place that decides signs: a bound in floating point, then exact numbers.
//
// WHAT IS DECIDED. A switch s = z_unit - kink is affine on a cell on which all earlier layers are
// affine. A vertex V of the cell is the point where two lines meet: zero lines of switches, or
// sides of the domain. Asked for is the sign of s(V): -1, 0 or +1.
//
// THE BOUND (u = 2^-53; the maps are stored in float64, weights are taken as they are).
// (1) Map of layer l on the cell, z = A x + c, kept as floats with |float - true| <= err for every
//     entry. Layer 1 sums n products and leaves out the rest: err <= (2 n + 5) u max_i (sum_j |W_ij| max|u_j, v_j, o_j| + |b_i|).
//     Layer l + 1 is a start (0 and b, or the map before an update) plus f terms W_j g_j, where
//     g_j is (slope A_j, slope c_j + intercept) or a difference of two such. Each of the 2 f
//     roundings is at most u times the largest partial sum, which is at most
//     M = |start| + sum_j max_i|W_ij| |g_j|; the roundings of g_j add 4 u M. So a start or update
//     adds (2 f + 8) u M to rho. What the errors of layer l contribute is, in exact arithmetic, the
//     product W D e_l (D: slopes, at most sigma; e_l: errors by unit) whatever the history of
//     updates. Largest entries and sums of squares over the n units bound it:
//       err_(l+1)  = sigma min(max_i |W_i|_1 err_l, max_i |W_i|_2 err2_l) + rho
//       err2_(l+1) = min(sigma S err2_l + sqrt(n) rho, sqrt(n) err_(l+1)),  |e_l|_2 <= err2_l
//     with the singular values of W at most S, S^4 <= |W W^T W W^T|_F. (S matters from some five
//     layers on: sums of He-normal rows grow by sqrt(n) a layer, singular values by about 3.)
// (2) Vertex: |v - V| <= delta in the maximum norm. From the residuals: |S_1(v)| <= r_1 and
//     |S_2(v)| <= r_2 for the two true lines, so by Cramer delta <= (|a_2| r_1 + |a_1| r_2) / |det|
//     with det and the coefficients taken at their worst. Or, from the edge that was cut: V lies on
//     the true edge, so delta <= max(delta_0, delta_1) + its length. The smaller of the two is kept.
//     A switch is affine along the true edge too, so that its value at V is interpolated between those
//     at the ends as coordinates are, with the same bound; no coordinates are needed for its sign.
// (3) Evaluation: with m = max(|a|, |c| + |kink|) over the layer and X = |x_1| + ... + |x_d| + 1,
//     |s_float(v) - s_true(V)| <= d (m + err) delta + (err + (d + 3) u m) X.
// Where |s_float| exceeds (3) its sign is proved. Products that underflow lose at most 2^-1075 each;
// 1e-280 in err and in (3) covers them; in (2), where they are divided, Cramer is not used if products
// of coefficients may be below 1e-280. Where M times a coordinate may overflow err is infinite: the
// bound never passes.
//
// THE FALLBACK recomposes the two lines and the switch from the stored weights under the cell's
// pattern, and takes the sign of a 3 x 3 and of a 2 x 2 determinant, all in Dyadic numbers. It
// cannot fail.
#pragma once

#include <cstdint>
#include <vector>

#include "dyadic.hpp"

// Small functions in headers that several instruction sets share must not become functions that the
// linker could take from the wrong one.
#ifndef PELLUCID_INLINE
#define PELLUCID_INLINE inline __attribute__((always_inline))
#endif

namespace pellucid {

// One hidden layer. A unit with k kinks has k + 1 pieces slope z + intercept, from low z to high.
struct RegionLayer {
    int32_t inputs, units;
    const double* W;  // units x inputs
    const double* b;
    int32_t n_kinks;  // 0, 1 or 2
    double kink[2], slope[3], intercept[3];

    PELLUCID_INLINE int32_t switches() const { return units * n_kinks; }
};

// x = origin + p_1 axes[0] + ... + p_d axes[d - 1] for low <= p <= high
struct RegionDomain {
    int32_t d_in, d;
    const double* origin;
    const double* axes;  // d x d_in
    const double* rest;  // what is to be added to the axes, within half a unit in their last place
    const double* low;
    const double* high;
};

// A hyperplane: switch `index` (unit n_kinks + kink) of a layer, or side ~index of the domain,
// where sides 2 i and 2 i + 1 are p_i = low_i and p_i = high_i.
struct LineId {
    int32_t layer, index;
    PELLUCID_INLINE static LineId side(int32_t i) { return {-1, ~i}; }
    PELLUCID_INLINE bool is_side() const { return index < 0; }
};

PELLUCID_INLINE bool bit(const uint64_t* words, int64_t i) { return words[i >> 6] >> (i & 63) & 1; }

class ExactPredicates {
public:
    ExactPredicates(const RegionLayer* layers, int32_t n_layers, const RegionDomain& domain);

    // Sign of `of` at the one point in which the n >= d hyperplanes `through` meet; patterns[l] holds
    // the bits of layer l's switches, needed for the layers before those named.
    int sign(const uint64_t* const* patterns, const LineId* through, int32_t n, LineId of);

    // That point, each coordinate with a relative error below 2^-49.
    void point(const uint64_t* const* patterns, const LineId* through, int32_t n, double* x);

    // z of a unit as an affine function, d slopes and a constant, under the patterns of the layers
    // before. Valid until the next call.
    const std::vector<Dyadic>& affine(const uint64_t* const* patterns, int32_t layer, int32_t unit);

private:
    using Row = std::vector<Dyadic>;  // d slopes and a constant

    struct Layer {
        std::vector<Dyadic> b, slope, intercept, kink;
        std::vector<uint64_t> pattern;  // of the layer before, that the rows were composed under
        std::vector<Row> z, h;          // by unit; empty where not composed yet
        uint64_t version = 1, built_on = 0;  // of z; of the layer before
    };

    void refresh(const uint64_t* const* patterns, int32_t layer);
    const Row& preactivation(int32_t layer, int32_t unit);
    const Row& output(int32_t layer, int32_t unit);
    Row hyperplane(LineId id);
    // `through`'s hyperplanes, d independent ones of them; empty where all meet in p = 0 without a
    // look, `also` among them.
    std::vector<Row> meeting(const uint64_t* const* patterns, const LineId* through, int32_t n,
                             const LineId* also);

    const RegionLayer* layers_;
    int32_t n_layers_;
    int32_t d_, d_in_;
    std::vector<Dyadic> origin_, axes_, low_, high_;
    std::vector<Layer> exact_;
    const uint64_t* const* patterns_ = nullptr;
    bool through_origin_ = true;  // no constant in any switch: all their lines meet in p = 0
};

// The same for sources that are compiled for several instruction sets: those must not instantiate
// templates of the standard library.
ExactPredicates* make_exact(const RegionLayer*, int32_t n_layers, const RegionDomain&);
int exact_sign(ExactPredicates*, const uint64_t* const* patterns, const LineId* through, int32_t n,
               LineId of);
void exact_point(ExactPredicates*, const uint64_t* const* patterns, const LineId* through, int32_t n,
                 double* x);
void free_exact(ExactPredicates*);

}  // namespace pellucid
