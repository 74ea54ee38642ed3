// Exact activation regions: what goes in and comes out, and the threads around a kernel.
//
// The domain is split by the first layer's switches, every cell by the second layer's, and so on,
// depth first; a cell that the last layer leaves whole is a region, and is written out at once.
// Everything of the cells on the way down is some kilobytes. subdivide_plane.cpp does it for polygons,
// subdivide_box.cpp in any dimension; predicates.hpp says how signs are decided.
//
// The work is cut into tasks (subtrees), the same ones whatever the number of threads, so that the
// regions of all tasks in order are the same bits always.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "growing.hpp"
#include "predicates.hpp"

namespace pellucid {

// The regions that one thread has found, one after the other.
struct RegionOutput {
    int64_t regions = 0, vertices = 0, facets = 0;
    Growing patterns;  // bytes per region: bits in layer, unit, kink order, the lowest first
    Growing points;    // d doubles for each vertex; in a plane counterclockwise
    Growing incidence;  // for each vertex what it lies on. Plane: int32, what the edge to the next one
                        // lies on. Else: uint64 words, the bits of the region's facets through it
    Growing offsets;        // int64: vertices before each region, and of all
    Growing facet_numbers;  // int32, the region's facets one after the other; not in a plane
    Growing facet_offsets;  // int64: facets before each region, and of all; not in a plane
    double vertex_error = 0;  // the largest proved error of a vertex
    int64_t by_filter = 0, by_exact = 0, undecided = 0;
    int64_t hand_over_at = INT64_MAX;  // regions, for RegionSink
};

// What a subdivision has to find. Patterns: with the facets of every region, without its vertices;
// a plane and a segment give vertices too.
enum class Wanted : int { count, patterns, vertices };

// Takes the regions found so far out of the output, whenever there are `batch` of them; false: stop.
struct RegionSink {
    int64_t batch = 0;
    bool (*take)(void*, RegionOutput&) = nullptr;
    void* data = nullptr;
};

// Corners of a cell, from which on games (isa/box_games.hpp) tell its parts where they are cheaper than
// vertices. 0: games tell the parts of every cell, however small, which tests ask for.
constexpr int64_t GAMES_FROM = 256;

struct RegionProblem {
    const RegionLayer* layers;
    int32_t n_layers;
    RegionDomain domain;
    bool exact;
    Wanted wanted;

    int64_t switches;  // of all layers
    int64_t bytes;     // of one packed pattern

    RegionSink sink = {};  // with one thread
    int64_t games_from = GAMES_FROM;
};

// too_many_facets: a cell has more than the kernel has bits for. too_deep: more cuts lie within each
// other than the stack holds.
enum class Stop : int { none, asked, out_of_memory, too_many_facets, too_deep };

constexpr int64_t STACK = 5 << 20;  // bytes that a search may use of a thread's 8 MiB

// A subdivision as one thread sees it; made and used through the functions of its instruction set.
struct AnySubdivision {};

// Shared by all threads of one subdivision: why to end early. The first thread polls.
struct StopSignal {
    std::atomic<int> value{int(Stop::none)};
    bool (*poll)(void*) = nullptr;  // true: stop
    void* poll_data = nullptr;
};

struct RegionKernel {
    const char* isa;
    int32_t d;                   // dimensions, at most
    int64_t facets;              // of a cell, at most; 0: any number
    size_t bytes_per_incidence;  // of RegionOutput::incidence, for one vertex
    AnySubdivision* (*create)(const RegionProblem&, StopSignal*, bool polls);
    void (*destroy)(AnySubdivision*);
    int64_t (*prepare)(AnySubdivision*, RegionOutput* decisions);  // makes the tasks; how many
    // Runs a task of the subdivision that prepared them (it may be `self`); ends after limit regions.
    void (*run)(AnySubdivision* self, const AnySubdivision* tasks, int64_t task, int64_t limit,
                RegionOutput*);
};

bool begin_offsets(RegionOutput&);  // false: no memory

// Gives the regions to the sink, and empties the output; false: stop.
bool hand_over(const RegionSink&, RegionOutput&);

constexpr int N_BOX_KERNELS = 9;  // for several dimensions and numbers of facets

// All regions in order.
struct RegionResult {
    RegionOutput regions;
    Stop stopped = Stop::none;
    bool complete = false;
};

// limit: regions, 0 for none. Blocks; runs on this thread and threads - 1 more.
void find_regions(const RegionKernel&, const RegionProblem&, int32_t threads, int64_t limit,
                  bool (*poll)(void*), void* poll_data, RegionResult*);

}  // namespace pellucid
