// The caller's memory, handed out piece by piece.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace pellucid::PELLUCID_ISA {

// Only counts where base is null. Pieces start at multiples of 64 bytes; under AddressSanitizer
// what lies between them must not be touched.
struct Arena {
    char* base;
    size_t used = 0;

    template <class T>
    T* take(int64_t count) {
        const size_t size = size_t(count) * sizeof(T), start = used;
        used += (size + 63) / 64 * 64;
#if defined(__SANITIZE_ADDRESS__)
        used += 64;
        if (base) {
            ASAN_UNPOISON_MEMORY_REGION(base + start, size);
            ASAN_POISON_MEMORY_REGION(base + start + size, used - start - size);
        }
#endif
        return base ? reinterpret_cast<T*>(base + start) : nullptr;
    }
};

}  // namespace pellucid::PELLUCID_ISA
