// Which instruction sets this processor and this build have, and which one is used.
#pragma once

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

// The kernel of that name and instruction set: PELLUCID_KERNEL(isa, kernel) is avx512::kernel, ...
#if defined(PELLUCID_X86)
#define PELLUCID_KERNEL(isa, kernel)            \
    ((isa) == "avx512" ? avx512::kernel         \
     : (isa) == "avx2" ? avx2::kernel : baseline::kernel)
#else
#define PELLUCID_KERNEL(isa, kernel) (static_cast<void>(isa), baseline::kernel)
#endif

namespace pellucid {

// Best first.
inline std::vector<std::string> instruction_sets() {
    std::vector<std::string> found;
#if defined(PELLUCID_X86)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        found.push_back("avx512");
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) found.push_back("avx2");
#endif
    found.push_back("baseline");
    return found;
}

// The best; PELLUCID_ISA=baseline|avx2|avx512 overrides the choice, for tests.
inline std::string instruction_set() {
    const auto found = instruction_sets();
    const char* wanted = std::getenv("PELLUCID_ISA");
    if (!wanted || !*wanted) return found.front();
    for (const std::string& name : found)
        if (name == wanted) return name;
    throw std::invalid_argument("PELLUCID_ISA is '" + std::string(wanted) +
                                "', which this processor or build does not have");
}

}  // namespace pellucid
