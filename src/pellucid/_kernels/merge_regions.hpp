// Which regions share a facet and which have the same affine map, exactly: the C++ form of
// regions/adjacency.py and regions/merging.py, for places without Python. Those say why it is right.
//
// Maps are told apart by their residues modulo a prime: floats are whole numbers times powers of two,
// and sums and products of residues are those of the numbers. Different residues prove that maps
// differ. Equal ones are proved equal by the units that reach the output, or in exact numbers.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "predicates.hpp"

namespace pellucid {

// Regions of one search, in its order. The last layer is the output, without kinks.
struct FoundRegions {
    const RegionLayer* layers;
    int32_t n_layers;
    RegionDomain domain;
    int64_t n, bytes;
    const uint8_t* patterns;  // n x bytes, the lowest bit first
    const int64_t* offsets;   // n + 1: where a region's facets begin
    const int32_t* facets;    // a switch, or below 0 a side
};

// Pairs of rows of `facets` that are one facet, seen from its two regions, the earlier region first.
std::vector<std::pair<int64_t, int64_t>> facet_pairs(const FoundRegions&);

// The region of each row of `facets`.
std::vector<int32_t> owner_of_facets(const FoundRegions&);

struct MergedRegions {
    std::vector<int32_t> linear_region, affine_map;  // of each region, numbered as they first appear
    int32_t n_linear_regions = 0, n_affine_maps = 0;
};

MergedRegions merge_regions(const FoundRegions&,
                            const std::vector<std::pair<int64_t, int64_t>>& facet_pairs);

}  // namespace pellucid
