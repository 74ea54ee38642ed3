// Inverted dropout: a hidden unit is 0 with probability `rate`, and 1 / (1 - rate) times as large
// otherwise. Whether it is kept is a hash of seed, step, layer, row of the batch and unit, so
// neither the order of the tiles nor their size matters.
#pragma once

#include "rows.hpp"

namespace pellucid::PELLUCID_ISA {

typedef uint32_t vu __attribute__((vector_size(L * 4)));

struct Dropout {
    uint64_t seed;
    int64_t step;
    double rate;

    // 32 bits for the rows and 32 for the units.
    uint64_t key(int layer) const {
        uint64_t state = seed ^ 0x64726F706F757421u;
        state = splitmix64(state) + uint64_t(step);
        state = splitmix64(state) + uint64_t(layer);
        return splitmix64(state);
    }
};

// Wellons (2018), "lowbias32"
PELLUCID_INLINE vu scramble(vu x) {
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

// first: which row of the batch the tile begins with. Multiplies h and its derivative.
template <int VB>
void drop(const Dropout& dropout, int layer, int64_t first, int width, real* h, real* slope) {
    const uint64_t key = dropout.key(layer);
    const uint32_t of_rows = uint32_t(key), of_units = uint32_t(key >> 32);
    const int32_t limit = int32_t(dropout.rate * 16777216.0);
    const vf scale = all(real(1 / (1 - dropout.rate))), zero{};
    vu rows[VB];
    for (int v = 0; v < VB; ++v)
        rows[v] = scramble((__builtin_convertvector(lane_numbers(), vu) + uint32_t(first + v * L)) ^ of_rows);
    for (int unit = 0; unit < width; ++unit) {
        const uint32_t offset = uint32_t(unit) * 0x9E3779B9u ^ of_units;
        for (int v = 0; v < VB; ++v) {
            const vu random = scramble(rows[v] + offset);
            const vi bits = __builtin_convertvector(random >> 8, vi);  // 24 of them
            const vf factor = select(bits >= limit, scale, zero);
            const int64_t at = (int64_t(unit) * VB + v) * L;
            store(h + at, load(h + at) * factor);
            store(slope + at, load(slope + at) * factor);
        }
    }
}

}  // namespace pellucid::PELLUCID_ISA
