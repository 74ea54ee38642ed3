// The training kernels of the instruction set that is used.
#pragma once

#include "instruction_sets.hpp"
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

inline Kernels choose_kernels() {
    const std::string isa = instruction_set();
#if defined(PELLUCID_X86)
    if (isa == "avx512") return avx512_kernels;
    if (isa == "avx2") return avx2_kernels;
#endif
    return baseline_kernels;
}

}  // namespace pellucid
