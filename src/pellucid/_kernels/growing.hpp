// Memory that grows, for searches that do not know how much they will find.
#pragma once

#include <cstddef>

namespace pellucid {

// A failure is kept, not thrown. Large blocks that are given back wait for the next search, some
// megabytes of them: the system takes as long to hand out fresh pages as a fast search to fill them.
struct Growing {
    void* data = nullptr;
    size_t capacity = 0;  // bytes

    bool reserve(size_t bytes);  // keeps what is there
    void* release(size_t used);  // for give_back(); much more than `used` is not handed out
    ~Growing();
    Growing() = default;
    Growing(const Growing&) = delete;
    Growing& operator=(const Growing&) = delete;

    static void give_back(void* data);
};

}  // namespace pellucid
