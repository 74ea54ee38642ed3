// What subdivide_plane works with: vertices, lines, chunks of switches, tasks.
//
// Everything is in the instruction set's own namespace and an unnamed one: only subdivide_plane.cpp
// includes these files.
#pragma once

#include "layers.hpp"

namespace pellucid::PELLUCID_ISA {
namespace {

struct Vertex {
    double x, y;
    double delta;         // (2): how far it may be from the true vertex
    double slack;         // (3): what a switch of the current layer must exceed here
    uint64_t pos, neg;    // signs of the current chunk's switches; neither: zero
    int64_t line;         // on which the edge to the next vertex lies
    int64_t unused;       // 64 bytes are copied fastest
};

struct Line {
    double ax, ay, c;
    double err;      // of each coefficient, with the rounding of an evaluation
    double largest;  // of the coefficients
    LineId id;
    int32_t number;  // switch of the whole network, or ~side
};

struct Switch {
    double ax, ay, c;
    int32_t index;  // within the layer
};

// Up to 64 switches of a layer that split a cell, while the cell is split by them.
struct Chunk {
    Switch switches[64];
    int32_t layer;
    int64_t rest, rest_end;  // switches of the layer still to be looked at, among the candidates
    uint64_t on;             // as last written to the layer's pattern
    double err, largest;     // of the layer's map
    bool last, counting;     // nothing follows; and cells need not be made
};

struct Task {
    int32_t layer;  // its switches up to here are decided, but for the rest
    int64_t vertices, n_vertices, lines, n_lines, rest, n_rest, words;
};

struct Tasks {
    Stack<Task> tasks;
    Stack<Vertex> vertices;
    Stack<Line> lines;
    Stack<int32_t> rest;
    Stack<uint64_t> words;
};

class Subdivision : public Layers<2> {
public:
    Subdivision(const RegionProblem& problem, StopSignal* stop, bool polls)
        : Layers(problem, stop, polls) {}

    ~Subdivision() {
        delete tasks_;
        delete next_tasks_;
    }

    int64_t prepare(RegionOutput* out);
    void run(const Subdivision& from, int64_t task, int64_t limit, RegionOutput* out);

private:
    void evaluate(int32_t l, int64_t begin, int64_t n);
    void enter(int32_t l, int64_t begin, int64_t n, int64_t top);
    void resolve(int32_t l, int64_t begin, int64_t n, int64_t top, int64_t rest,
                 int64_t rest_end);
    void split(Chunk& chunk, int64_t begin, int64_t n, int64_t top, uint64_t todo, uint64_t on);
    void leaf(Chunk& chunk, int64_t begin, int64_t n, int64_t top, uint64_t on);
    void cross(const Chunk& chunk, const Vertex& v0, const Vertex& v1, int k, uint64_t todo,
               const Line& cut, Vertex& w);
    int decide(const Line& a, const Line& b, LineId of, double s);
    void emit(int64_t begin, int64_t n);
    void collect(int32_t layer, int64_t begin, int64_t n, int64_t rest, int64_t rest_end);

    Stack<Vertex> cells_;
    Stack<Line> lines_;
    Stack<int32_t> candidates_;
    bool collecting_ = false;
    Tasks* tasks_ = nullptr;
    Tasks* next_tasks_ = nullptr;
};

}  // namespace
}  // namespace pellucid::PELLUCID_ISA
