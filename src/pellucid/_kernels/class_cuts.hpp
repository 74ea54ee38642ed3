// Layers after the outputs whose zeros are where the class changes: the C++ form of `tower` in
// regions/refining.py, for places without Python. A search that goes on through them cuts regions
// into cells of one class, with everything proved that is proved of regions.
//
// With M_j = max(f_0, ..., f_j), unit 0 of head layer j is d_j = f_j - M_(j-1), and the class is the
// last j with d_j > 0, else 0. With one output, class 1 is where it is above 0.
#pragma once

#include <cstdint>
#include <vector>

#include "predicates.hpp"

namespace pellucid {

struct HeadLayer {
    int32_t inputs, units;
    std::vector<double> W, b;
};

// Empty where the outputs may be too large for the constants of float64.
std::vector<HeadLayer> class_cuts(const std::vector<RegionLayer>& layers_and_output,
                                  const RegionDomain& domain);

}  // namespace pellucid
