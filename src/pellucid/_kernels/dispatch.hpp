// Which instruction set's kernel runs: the best that the processor has.
#pragma once

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "train.hpp"

namespace pellucid {

// One instruction set's kernels, one for each number type.
struct Kernels {
    const Kernel<float>* in_float;
    const Kernel<double>* in_double;

    const char* isa() const { return in_float->isa; }

    template <class Real>
    const Kernel<Real>& of() const {
        if constexpr (sizeof(Real) == sizeof(float)) return *in_float;
        else return *in_double;
    }
};

#define PELLUCID_KERNELS(name)                                    \
    namespace name { extern const Kernel<float> kernel; }         \
    namespace name##_double { extern const Kernel<double> kernel; } \
    constexpr Kernels name##_kernels{&name::kernel, &name##_double::kernel};

PELLUCID_KERNELS(baseline)
#if defined(PELLUCID_X86)
PELLUCID_KERNELS(avx2)
PELLUCID_KERNELS(avx512)
#endif
#undef PELLUCID_KERNELS

// Best first.
inline std::vector<Kernels> available_kernels() {
    std::vector<Kernels> found;
#if defined(PELLUCID_X86)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        found.push_back(avx512_kernels);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        found.push_back(avx2_kernels);
#endif
    found.push_back(baseline_kernels);
    return found;
}

// PELLUCID_ISA=baseline|avx2|avx512 overrides the choice, for tests.
inline Kernels choose_kernels() {
    const auto found = available_kernels();
    const char* wanted = std::getenv("PELLUCID_ISA");
    if (!wanted || !*wanted) return found.front();
    for (const Kernels& k : found)
        if (std::string(wanted) == k.isa()) return k;
    throw std::invalid_argument("PELLUCID_ISA is '" + std::string(wanted) +
                                "', which this processor or build does not have");
}

}  // namespace pellucid
