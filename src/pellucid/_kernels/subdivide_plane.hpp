// Exact activation regions on a rectangle in a plane: depth first over convex polygons.
//
// The rectangle is split by the first layer's switches, every cell by the second layer's, and so on;
// a cell that the last layer leaves whole is a region, and is written out at once. Everything of the
// cells on the way down is some kilobytes. predicates.hpp says how signs are decided.
//
// The work is cut into tasks (subtrees), the same ones whatever the number of threads, so that the
// regions of all tasks in order are the same bits always.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "predicates.hpp"

namespace pellucid {

// Memory that grows by realloc; a failure is kept, not thrown.
struct Growing {
    void* data = nullptr;
    size_t capacity = 0;  // bytes

    bool reserve(size_t bytes);  // keeps what is there
    void* release();
    ~Growing();
    Growing() = default;
    Growing(const Growing&) = delete;
    Growing& operator=(const Growing&) = delete;
};

// The regions that one thread has found, one after the other.
struct RegionOutput {
    int64_t regions = 0, vertices = 0;
    Growing patterns;  // bytes per region: bits in layer, unit, kink order, the lowest first
    Growing points;    // double x, y for each vertex, counterclockwise
    Growing edges;     // int32 for each vertex: what the edge to the next one lies on
    Growing offsets;   // int64 for each region: vertices before it
    double vertex_error = 0;  // the largest proved error of a vertex
    int64_t by_filter = 0, by_exact = 0, undecided = 0;
};

struct PlaneProblem {
    const RegionLayer* layers;
    int32_t n_layers;
    RegionDomain domain;  // d = 2
    bool exact, count_only;

    int64_t switches;  // of all layers
    int64_t bytes;     // of one packed pattern
};

enum class Stop : int { none, asked, out_of_memory };

// A subdivision as one thread sees it; made and used through the functions of its instruction set.
struct PlaneSubdivision {};

// Shared by all threads of one subdivision: why to end early. The first thread polls.
struct StopSignal {
    std::atomic<int> value{int(Stop::none)};
    bool (*poll)(void*) = nullptr;  // true: stop
    void* poll_data = nullptr;
};

struct PlaneKernel {
    const char* isa;
    PlaneSubdivision* (*create)(const PlaneProblem&, StopSignal*, bool polls);
    void (*destroy)(PlaneSubdivision*);
    int64_t (*prepare)(PlaneSubdivision*, RegionOutput* decisions);  // makes the tasks; how many
    // Runs a task of the subdivision that prepared them (it may be `self`); ends after limit regions.
    void (*run)(PlaneSubdivision* self, const PlaneSubdivision* tasks, int64_t task, int64_t limit,
                RegionOutput*);
};

// All regions in order.
struct PlaneResult {
    RegionOutput regions;
    Stop stopped = Stop::none;
    bool complete = false;
};

// limit: regions, 0 for none. Blocks; runs on this thread and threads - 1 more.
void subdivide_plane(const PlaneKernel&, const PlaneProblem&, int32_t threads, int64_t limit,
                     bool (*poll)(void*), void* poll_data, PlaneResult*);

}  // namespace pellucid
