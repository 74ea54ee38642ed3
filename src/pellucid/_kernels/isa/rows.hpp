// Which rows a step takes, and their way into tiles.
#pragma once

#include "job.hpp"
#include "vec.hpp"

namespace pellucid::PELLUCID_ISA {

// Steele, Lea and Flood (2014).
inline uint64_t splitmix64(uint64_t& state) {
    uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

// Fisher and Yates, in place; j = floor(u (i + 1)) with u the high 32 bits as a fraction.
inline void shuffle(int32_t* order, int64_t n, uint64_t& state) {
    for (int64_t i = n - 1; i > 0; --i) {
        const int64_t j = int64_t(((splitmix64(state) >> 32) * uint64_t(i + 1)) >> 32);
        const int32_t kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

// A run of rows: order[first], order[first + 1], ..., or the rows themselves where order is null.
struct Selection {
    const int32_t* order;
    int64_t first;
    int valid;

    // Rows beyond the last repeat it: what is computed for them is finite if the rest is.
    int64_t operator[](int r) const {
        const int64_t at = first + (r < valid ? r : valid - 1);
        return order ? order[at] : at;
    }
};

// M (n, width), row by row -> tile [column][row] of R rows
inline void gather(const real* M, int width, const Selection& rows, int R, real* tile) {
    for (int r0 = 0; r0 < R; r0 += L) {
        const real* from[L];
        for (int r = 0; r < L; ++r) from[r] = M + rows[r0 + r] * width;
        int i = 0;
        for (; i + L <= width; i += L) {
            vf block[L];
            for (int r = 0; r < L; ++r) block[r] = load_anywhere(from[r] + i);
            transpose(block);
            for (int k = 0; k < L; ++k) store(tile + int64_t(i + k) * R + r0, block[k]);
        }
        for (; i < width; ++i)
            for (int r = 0; r < L; ++r) tile[int64_t(i) * R + r0 + r] = from[r][i];
    }
}

inline void gather(const int32_t* labels, const Selection& rows, int R, int32_t* tile) {
    for (int r = 0; r < R; ++r) tile[r] = labels[rows[r]];
}

}  // namespace pellucid::PELLUCID_ISA
