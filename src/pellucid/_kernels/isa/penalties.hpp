// What happens to the gradient between its computation and the optimizer: the gradient of the L1
// penalty, then clipping by the global norm.
#pragma once

#include "job.hpp"
#include "vec.hpp"

namespace pellucid::PELLUCID_ISA {

// g += l1 sign(p), with sign(0) = 0; n is a multiple of L.
inline void add_l1(real l1, const real* parameters, real* gradient, int64_t n) {
    const vf zero{}, up = all(l1);
    for (int64_t i = 0; i < n; i += L) {
        const vf p = load(parameters + i);
        const vf slope = select(p > zero, up, select(p < zero, -up, zero));
        store(gradient + i, load(gradient + i) + slope);
    }
}

// As torch.nn.utils.clip_grad_norm_: g *= min(1, limit / (|g| + 1e-6))
inline void clip(double limit, real* g, int64_t n) {
    const double factor = limit / (__builtin_sqrt(dot(g, g, n)) + 1e-6);
    if (factor >= 1) return;  // false for nan, which must not be lost
    const real f = real(factor);
    for (int64_t i = 0; i < n; i += L) store(g + i, load(g + i) * f);
}

}  // namespace pellucid::PELLUCID_ISA
