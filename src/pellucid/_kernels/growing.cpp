// Blocks begin with their size, and the large ones are kept for a while.
#include "growing.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace pellucid {

namespace {

constexpr size_t HEAD = 64;                // before the data: its size
constexpr size_t LARGE = size_t(1) << 16;  // bytes from which on a block is kept
constexpr size_t MOST_KEPT = size_t(1) << 25;
constexpr int MOST_BLOCKS = 16;
constexpr size_t SPARE = 16;  // a block is not used for less than this part of it

char* base_of(void* data) { return static_cast<char*>(data) - HEAD; }
size_t& size_of(void* data) { return *reinterpret_cast<size_t*>(base_of(data)); }

// A block of that many bytes, with the contents of `data` where that is not null.
void* allocate(void* data, size_t bytes) {
    void* base = std::realloc(data ? base_of(data) : nullptr, HEAD + bytes);
    if (!base) return nullptr;
    void* grown = static_cast<char*>(base) + HEAD;
    size_of(grown) = bytes;
    return grown;
}

// Where the lock is taken (in a child process it may be for ever) nothing is kept.
class Kept {
public:
    bool put(void* data) {
        const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
        const size_t bytes = size_of(data);
        if (!lock || n_ == MOST_BLOCKS || bytes_ + bytes > MOST_KEPT) return false;
        blocks_[n_++] = data;
        bytes_ += bytes;
        return true;
    }

    // The smallest one that is large enough; null where there is none.
    void* take(size_t bytes) {
        const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
        int found = -1;
        for (int i = 0; lock && i < n_; ++i) {
            const size_t size = size_of(blocks_[i]);
            if (size < bytes || size / SPARE > bytes) continue;
            if (found < 0 || size < size_of(blocks_[found])) found = i;
        }
        if (found < 0) return nullptr;
        void* data = blocks_[found];
        blocks_[found] = blocks_[--n_];
        bytes_ -= size_of(data);
        return data;
    }

private:
    std::mutex mutex_;
    void* blocks_[MOST_BLOCKS];
    int n_ = 0;
    size_t bytes_ = 0;
};

Kept& kept() {
    static Kept& blocks = *new Kept;  // arrays may outlive the module
    return blocks;
}

}  // namespace

void Growing::give_back(void* data) {
    if (data && (size_of(data) < LARGE || !kept().put(data))) std::free(base_of(data));
}

bool Growing::reserve(size_t bytes) {
    if (bytes <= capacity) return true;
    const size_t wanted = std::max(bytes, std::max<size_t>(capacity + capacity / 2, 1024));
    void* grown = wanted < LARGE ? nullptr : kept().take(wanted);
    if (grown) {
        if (data) std::memcpy(grown, data, capacity);
        give_back(data);
    } else {
        grown = allocate(data, wanted);
        if (!grown) return false;
    }
    data = grown, capacity = size_of(grown);
    return true;
}

void* Growing::release(size_t used) {
    void* released = data;
    if (capacity >= LARGE && used < capacity / 2) {
        void* smaller = allocate(nullptr, used);
        if (smaller) {
            std::memcpy(smaller, data, used);
            give_back(data);
            released = smaller;
        }
    }
    data = nullptr, capacity = 0;
    return released;
}

Growing::~Growing() { give_back(data); }

}  // namespace pellucid
