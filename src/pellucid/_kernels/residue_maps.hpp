// Affine maps of a piecewise-linear network modulo the prime 2^31 - 1, under one pattern after the
// other. Nothing is rounded, so that a map follows from the last one by the units that flipped.
#pragma once

#include <cstdint>
#include <vector>

#include "predicates.hpp"

namespace pellucid {

PELLUCID_INLINE bool bit_of(const uint8_t* pattern, int64_t i) { return pattern[i >> 3] >> (i & 7) & 1; }

class ResidueMaps {
public:
    ResidueMaps(const RegionLayer* layers, int32_t n_layers, const RegionDomain& domain);

    // Composes under this pattern what differs from the last one.
    void follow(const uint8_t* pattern, int64_t bytes);

    int columns() const { return columns_; }  // slopes, then the constant
    // z of all units of a layer: their first slopes, their second ones, ..., their constants.
    const uint32_t* z(int32_t layer) const { return layers_[size_t(layer)].z.data(); }
    // A switch's z - kink, into `columns` numbers.
    void switch_row(int64_t number, uint32_t* row) const;
    int64_t n_switches() const { return n_switches_; }
    int32_t layer_of(int64_t number) const;
    int64_t first_of(int32_t layer) const { return layers_[size_t(layer)].first; }

    static uint32_t times(uint32_t a, uint32_t b);
    static uint32_t minus(uint32_t a, uint32_t b);

private:
    struct Layer {
        const RegionLayer* of;
        int64_t first;                               // number of its first switch
        std::vector<uint32_t> W, z;                  // W: input after input
        std::vector<uint32_t> b, kink, slope, intercept;
    };

    static int piece(const Layer& layer, const uint8_t* pattern, int64_t unit);
    void fresh(int32_t l, const uint8_t* pattern);
    void update(int32_t l, const uint8_t* before, const uint8_t* now);
    void add(Layer& to, const Layer& from, int64_t unit, uint32_t slope, uint32_t intercept);

    int columns_;
    int64_t n_switches_ = 0;
    std::vector<Layer> layers_;
    std::vector<uint8_t> last_;
    std::vector<uint64_t> sums_;  // of the layer that is composed, as z
};

}  // namespace pellucid
