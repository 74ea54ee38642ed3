// Which instruction set's kernel runs: the best that the processor has.
#pragma once

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "train.hpp"

namespace pellucid {

namespace baseline { extern const Kernel<float> kernel; }
#if defined(PELLUCID_X86)
namespace avx2 { extern const Kernel<float> kernel; }
namespace avx512 { extern const Kernel<float> kernel; }
#endif

// Best first.
inline std::vector<const Kernel<float>*> available_kernels() {
    std::vector<const Kernel<float>*> found;
#if defined(PELLUCID_X86)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        found.push_back(&avx512::kernel);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        found.push_back(&avx2::kernel);
#endif
    found.push_back(&baseline::kernel);
    return found;
}

// PELLUCID_ISA=baseline|avx2|avx512 overrides the choice, for tests.
inline const Kernel<float>& choose_kernel() {
    const auto found = available_kernels();
    const char* wanted = std::getenv("PELLUCID_ISA");
    if (!wanted || !*wanted) return *found.front();
    for (const Kernel<float>* k : found)
        if (std::string(wanted) == k->isa) return *k;
    throw std::invalid_argument("PELLUCID_ISA is '" + std::string(wanted) +
                                "', which this processor or build does not have");
}

}  // namespace pellucid
