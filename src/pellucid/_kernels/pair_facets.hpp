// Which facets are one, seen from its two regions: those along the same switch whose regions'
// patterns differ in that switch alone.
#pragma once

#include <cstdint>
#include <vector>

namespace pellucid {

// Regions with their patterns (n x bytes, packed, the lowest bit first) and the switches along
// their facets (facets[offsets[i]] .. facets[offsets[i + 1]] of region i; below 0: a side of the
// domain).
struct FacetProblem {
    const uint8_t* patterns;
    int64_t n, bytes;
    const int64_t* offsets;
    const int32_t* facets;
};

// Rows of `facets`: pairs, that of the region with the lower number first, in the order of the
// regions, and these regions; and the rows along a switch that found no partner.
struct FacetPairs {
    std::vector<int64_t> pairs, regions, alone;
};

FacetPairs pair_facets(const FacetProblem& problem);

}  // namespace pellucid
