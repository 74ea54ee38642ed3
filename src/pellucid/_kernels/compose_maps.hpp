// The affine map of the outputs on every region, from the regions' patterns: z = A p + c composed
// layer by layer. Regions come in the order of the search, so that a layer changes only where the
// pattern of a layer before has; few flipped units update it, up to 64 in a row, and more compose it
// from the start.
//
// ROUNDING (u = 2^-53, norms of a column). With the layer before given as floats, |h| the largest
// output norm that any pattern gives it and M = |W|_F |h| + |b|, every map of the layer is at most M.
// Composing n units from the start loses at most (n + 6) u M, an update of one at most 8 u M (old
// map, new map and their difference are at most 2 M). Updates start from the floats of the layer
// before that later regions still have, so nothing else comes in.
#pragma once

#include <cstdint>

#include "predicates.hpp"

namespace pellucid {

struct ComposeProblem {
    const RegionLayer* layers;  // layers with kinks; the first one's W and b are not used
    int32_t n_layers, d;        // at least one layer; coordinates of the domain
    const double* first_map;    // (d + 1) x units of the first layer: slopes, then the constant
    int32_t d_out;
    const double* output_weight;  // d_out x units of the last layer
    const double* output_bias;
    const uint8_t* patterns;  // n x bytes, packed, the lowest bit first
    int64_t n, bytes;
};

// maps: n x d_out x (d + 1). norms: n x n_layers, the largest Euclidean norm of a column of each
// layer's map. False where memory ended.
struct ComposeKernel {
    const char* isa;
    bool (*compose)(const ComposeProblem&, double* maps, double* norms);
};

}  // namespace pellucid
