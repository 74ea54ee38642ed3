// What subdivide_box works with: masks of facets, cells by their vertices, switches, tasks.
//
// A cell is a convex polytope given by its vertices. Each vertex has a bit for every facet that it
// lies on; the bits are slots, and a table says which hyperplane a slot holds on the way down to the
// current cell. Where a cut leaves no vertex on a facet, the slot becomes free. Only
// subdivide_box.cpp includes this file.
#pragma once

#include "layers.hpp"

namespace pellucid::PELLUCID_ISA {
namespace {

template <int WORDS>
struct Mask {
    uint64_t w[WORDS];

    PELLUCID_INLINE static Mask none() { return {}; }
    PELLUCID_INLINE static Mask of(int slot) {
        Mask m{};
        m.w[slot >> 6] = uint64_t(1) << (slot & 63);
        return m;
    }
    PELLUCID_INLINE bool has(int slot) const { return w[slot >> 6] >> (slot & 63) & 1; }
    PELLUCID_INLINE int count() const {
        int n = 0;
        for (int i = 0; i < WORDS; ++i) n += __builtin_popcountll(w[i]);
        return n;
    }
    PELLUCID_INLINE bool contains(const Mask& other) const {
        uint64_t missing = 0;
        for (int i = 0; i < WORDS; ++i) missing |= other.w[i] & ~w[i];
        return missing == 0;
    }
    PELLUCID_INLINE int first_free() const {  // -1: none
        for (int i = 0; i < WORDS; ++i)
            if (~w[i]) return 64 * i + __builtin_ctzll(~w[i]);
        return -1;
    }
    // Calls f(slot) for each slot that is set.
    template <class F>
    PELLUCID_INLINE void each(F f) const {
        for (int i = 0; i < WORDS; ++i)
            for (uint64_t rest = w[i]; rest; rest &= rest - 1) f(64 * i + __builtin_ctzll(rest));
    }
    PELLUCID_INLINE friend Mask operator&(Mask a, const Mask& b) {
        for (int i = 0; i < WORDS; ++i) a.w[i] &= b.w[i];
        return a;
    }
    PELLUCID_INLINE friend Mask operator|(Mask a, const Mask& b) {
        for (int i = 0; i < WORDS; ++i) a.w[i] |= b.w[i];
        return a;
    }
    PELLUCID_INLINE friend bool operator==(const Mask& a, const Mask& b) {
        return a.contains(b) && b.contains(a);
    }
};

// A vertex as one cell sees it.
template <int WORDS>
struct Corner {
    Mask<WORDS> mask;
    uint64_t pos, neg;  // signs of the current chunk's switches; neither: zero
    int64_t point;
};

// Where a vertex is; cells share it.
template <int DIM>
struct Point {
    double x[DIM];
    double delta;  // (2): how far it may be from the true vertex
    double X;      // |x_1| + ... + 1
    bool refined;
};

template <int DIM>
struct Plane {
    double a[DIM], c;
    double err;  // of each coefficient, with the rounding of an evaluation
    LineId id;
    int32_t number;  // switch of the whole network, or ~side
};

template <int DIM>
struct Switch {
    double a[DIM], c;
    double norm;    // |a|_1, rounded up, and d times a coefficient's error
    int32_t index;  // within the layer
};

// Up to 64 switches of a layer that split a cell, while the cell is split by them.
template <int DIM>
struct Chunk {
    Switch<DIM> switches[64];
    int32_t layer;
    int64_t rest, rest_end;  // switches of the layer still to be looked at, among the candidates
    uint64_t on;             // as last written to the layer's pattern
    double err;              // of the layer's map, with the rounding of an evaluation
    bool last;               // nothing follows: what no switch here splits is a region
};

template <int WORDS>
struct Cell {
    int64_t begin, n;  // among the corners
    Mask<WORDS> used;  // the slots of its facets
    bool simple;       // every vertex lies on d facets exactly
};

template <int WORDS>
struct Task {
    int32_t layer;  // its switches up to here are decided, but for the rest
    Cell<WORDS> cell;
    int64_t corners, planes, rest, n_rest, words;
};

template <int DIM, int WORDS>
struct Tasks {
    Stack<Task<WORDS>> tasks;
    Stack<Corner<WORDS>> corners;
    Stack<Point<DIM>> points;  // one for each corner
    Stack<Plane<DIM>> planes;  // one for each slot that is used
    Stack<int32_t> rest;
    Stack<uint64_t> words;
};

struct Edge {
    int64_t above, below;  // its corners, counted within the cell
};

template <int WORDS>
struct Key {
    Mask<WORDS> edge;
    int64_t corner;  // -1: an empty place
};

constexpr int64_t KEYS_FROM = 16;  // pairs of corners per corner and dimension, to use a table

template <int DIM, int WORDS>
class Box : public Layers<DIM> {
    using Base = Layers<DIM>;
    using Base::fail, Base::layers_, Base::limit_, Base::n_layers_, Base::out_, Base::patterns_,
        Base::problem_, Base::stop_, Base::stopped_, Base::tick;

public:
    Box(const RegionProblem& problem, StopSignal* stop, bool polls)
        : Base(problem, stop, polls), d_(problem.domain.d), coarse_(d_ == 1 ? 1e-13 : 1e-9) {}
    ~Box() {
        delete tasks_;
        delete next_tasks_;
    }

    int64_t prepare(RegionOutput* out);
    void run(const Box& from, int64_t task, int64_t limit, RegionOutput* out);

private:
    static constexpr int SLOTS = 64 * WORDS;

    void enter(int32_t l, Cell<WORDS> cell);
    void evaluate(int32_t l, const Cell<WORDS>& cell);
    void resolve(int32_t l, const Cell<WORDS>& cell, int64_t rest, int64_t rest_end);
    void split(Chunk<DIM>& chunk, const Cell<WORDS>& cell, uint64_t todo, uint64_t on);
    void count(const Chunk<DIM>& chunk, const Cell<WORDS>& cell, uint64_t todo);
    void count_section(const Chunk<DIM>& chunk, const Cell<WORDS>& cell, int k, int slot,
                       uint64_t todo);
    void count_point(const Chunk<DIM>& chunk, const Cell<WORDS>& cell, int k, int slot,
                     uint64_t todo);
    Plane<DIM> plane_of(const Chunk<DIM>& chunk, int k) const;
    void leaf(Chunk<DIM>& chunk, const Cell<WORDS>& cell, uint64_t on);
    void write_bits(Chunk<DIM>& chunk, uint64_t on);
    void last_split(Chunk<DIM>& chunk, const Cell<WORDS>& cell, int k, uint64_t on);
    void find_edges(const Cell<WORDS>& cell, int k);
    void pair_up(const Cell<WORDS>& cell);
    void pair_up_by_key(const Cell<WORDS>& cell);
    void pair_up_degenerate(const Cell<WORDS>& cell);
    void cross(const Chunk<DIM>& chunk, const Corner<WORDS>& v0, const Corner<WORDS>& v1, int k,
               uint64_t todo, int slot, bool placed, Corner<WORDS>& w);
    int64_t place(const Chunk<DIM>& chunk, const Corner<WORDS>& v0, const Corner<WORDS>& v1, int k,
                  const Mask<WORDS>& mask);
    void locate(Point<DIM>& point, const Mask<WORDS>& mask);
    bool refine(Point<DIM>& point, const Mask<WORDS>& mask);
    int sign(const Switch<DIM>& s, int32_t layer, double err, const Corner<WORDS>& v);
    void tidy(Cell<WORDS>& cell);
    void emit(const Cell<WORDS>& cell);
    bool write_facets(const Mask<WORDS>& used, int16_t* place_of);
    void collect(int32_t layer, const Cell<WORDS>& cell, int64_t rest, int64_t rest_end);

    PELLUCID_INLINE double at(const Switch<DIM>& s, const Point<DIM>& p) const {
        double value = s.c;
        for (int i = 0; i < DIM; ++i) value += s.a[i] * p.x[i];
        return value;
    }

    int32_t d_;
    double coarse_;  // bounds of new corners, relative, from which on they are refined
    Stack<Corner<WORDS>> corners_;
    Stack<Point<DIM>> points_;
    Plane<DIM> planes_[SLOTS];
    Stack<int32_t> candidates_;
    Stack<int64_t> above_, below_;      // corners on each side of the current cut
    Stack<Mask<WORDS>> masks_;          // of those on one side
    Stack<Key<WORDS>> keys_;            // a table of edges of the other side
    Stack<Edge> edges_;                 // that the current cut crosses
    Mask<WORDS> shared_[SLOTS];         // by slot, what all corners on it lie on
    bool collecting_ = false;
    Tasks<DIM, WORDS>* tasks_ = nullptr;
    Tasks<DIM, WORDS>* next_tasks_ = nullptr;
};

}  // namespace
}  // namespace pellucid::PELLUCID_ISA
