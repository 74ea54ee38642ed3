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
    PELLUCID_INLINE Mask without(int slot) const {
        Mask m = *this;
        m.w[slot >> 6] &= ~(uint64_t(1) << (slot & 63));
        return m;
    }
    PELLUCID_INLINE bool contains(const Mask& other) const {
        uint64_t missing = 0;
        for (int i = 0; i < WORDS; ++i) missing |= other.w[i] & ~w[i];
        return missing == 0;
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

// Up to 64 switches of a layer that split a cell, by column, while the cell is split by them.
// Beyond the last of them there are PAD columns of zeros.
template <int DIM>
struct alignas(64) Chunk {
    static constexpr int COLUMNS = 64 + PAD;
    double a[DIM][COLUMNS], c[COLUMNS];
    double norm[COLUMNS];    // |a|_1, rounded up, and d times a coefficient's error
    int32_t index[COLUMNS];  // within the layer
    int slot[COLUMNS];       // of their hyperplanes, in every cell below
    int32_t layer;
    int64_t rest, rest_end;  // switches of the layer still to be looked at, among the candidates
    uint64_t on;             // as last written to the layer's pattern
    double err;              // of the layer's map, with the rounding of an evaluation
    bool last;               // nothing follows: what no switch here splits is a region

    void take(int to, const Chunk& other, int from) {
        for (int d = 0; d < DIM; ++d) a[d][to] = other.a[d][from];
        c[to] = other.c[from], norm[to] = other.norm[from];
        index[to] = other.index[from], slot[to] = other.slot[from];
    }
    void clear_from(int m) {  // the columns after the last
        for (int k = m; k < m + PAD; ++k) {
            for (int d = 0; d < DIM; ++d) a[d][k] = 0;
            c[k] = norm[k] = 0;
        }
    }
    PELLUCID_INLINE double slack(int k, const Point<DIM>& p) const {  // bound (3)
        return norm[k] * p.delta + err * p.X + TINY;
    }
    PELLUCID_INLINE double at(int k, const Point<DIM>& p) const {
        double value = c[k];
        for (int d = 0; d < DIM; ++d) value += a[d][k] * p.x[d];
        return value;
    }

    // Of D switches from k on at the point: values, and how far they may be off.
    struct Values {
        vd values, slack;
    };
    PELLUCID_INLINE Values values(int k, const Point<DIM>& p) const {
        vd s = load_any(c + k);
        for (int d = 0; d < DIM; ++d) s += load_any(a[d] + k) * all(p.x[d]);
        return {s, (load_any(norm + k) * all(p.delta) + all(err * p.X + TINY)) * UP};
    }
};

// The bits of x that `of` has, side by side; and back.
PELLUCID_INLINE uint64_t compress(uint64_t x, uint64_t of) {
#if defined(__BMI2__)
    return _pext_u64(x, of);
#else
    uint64_t packed = 0;
    for (int i = 0; of; of &= of - 1, ++i) packed |= (x >> __builtin_ctzll(of) & 1) << i;
    return packed;
#endif
}
PELLUCID_INLINE uint64_t expand(uint64_t packed, uint64_t of) {
#if defined(__BMI2__)
    return _pdep_u64(packed, of);
#else
    uint64_t x = 0;
    for (; of; of &= of - 1, packed >>= 1) x |= (of & -of) * (packed & 1);
    return x;
#endif
}

// The lowest bits of x, at most n.
PELLUCID_INLINE uint64_t lowest(uint64_t x, int n) {
    uint64_t found = 0;
    for (; n > 0 && x; --n, x &= x - 1) found |= x & -x;
    return found;
}

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

// An edge of a section (box_parts.hpp).
struct Line {
    int32_t ends[2];  // among the corners
    uint64_t across;  // the switches that are zero between them
};

// The corners of a section, while all switches of a chunk cut a cell.
struct Section {
    int64_t begin, end;  // among the corners
    uint64_t tight;      // the switches that are zero on it
};

// A part of a cell, while all switches of a chunk cut it.
struct Part {
    uint64_t pattern, facets;
    int64_t members, n;  // its corners, among the members
};

constexpr int AT_ONCE = 10;  // switches that cut a cell at once, at most

// Where a switch is zero between two points, by its values there, which are off by as much at most:
// bound (2) of predicates.hpp along an edge. Real: double, or vd for several edges at once.
template <class Real>
struct Where {
    Real t;    // the share of the way
    Real off;  // how far the true share may be from it

    PELLUCID_INLINE Where(Real at_start, Real at_end, Real off_start, Real off_end) {
        const Real a0 = magnitude(at_start), a1 = magnitude(at_end), share = a0 / (a0 + a1);
        t = ((share >= 0) & (share <= 1)) ? share : Real{} + 0.5;
        const Real least = (a0 + a1) / UP - (off_start + off_end) * UP;
        const Real found = ((1 - t) * off_start + t * off_end) / least + 8 * U;
        off = ((least > 0) & (found < 1)) ? found : Real{} + 1.0;
    }
};

// Of what is interpolated at the share t, which is off by `off`, between numbers that are off by as
// much, differ by at most `length`, and of which none is larger than `size`.
PELLUCID_INLINE double interpolation_error(double t, double off, double start, double end,
                                           double length, double size) {
    const double ends = (1 - t) * start + t * end, whole = length + 2 * larger(start, end);
    return UP * (ends + off * whole + 8 * U * (size + length));
}

constexpr int BLOCK = 16;  // lines that are crossed together

// Where a switch crosses some lines, whose new vertices are counted from the first of a block.
struct Crossings {
    int32_t n;
    int32_t vertex[BLOCK];
    uint64_t open[BLOCK];  // the switches whose signs are asked for
    double t[BLOCK], off[BLOCK];
};

// Of the current cell: the switches that cut it, numbered from 0, and the vertices found.
template <int DIM>
struct Cut {
    Chunk<DIM> chunk;
    uint64_t switches, left_out;
    int64_t begin;   // its first corner
    int64_t stride;  // of values
    double largest;  // value of a switch at a corner
    bool placed;     // all vertices are wanted
    bool counts;     // only the number of sections is
};

// Corners by the edges through them, each edge named by its d - 1 facets.
template <int WORDS>
class EdgeTable {
public:
    bool clear(int64_t edges) {  // for so many at most
        size_ = 64;
        while (size_ <= 2 * edges) size_ *= 2;
        if (!places_.room(size_)) return false;
        for (int64_t i = 0; i < size_; ++i) places_.data()[i] = -1;
        return true;
    }
    // The corner of `masks` that is kept for the edge; -1 where there is none yet.
    PELLUCID_INLINE int32_t& find(const Mask<WORDS>& edge, const Mask<WORDS>* masks) {
        uint64_t h = 0;
        for (int i = 0; i < WORDS; ++i) h = (h ^ edge.w[i]) * 0x9e3779b97f4a7c15u, h ^= h >> 29;
        int64_t at = int64_t(h * 0x9e3779b97f4a7c15u >> 20) & (size_ - 1);
        int32_t* places = places_.data();
        while (places[at] >= 0 && !masks[places[at]].contains(edge)) at = (at + 1) & (size_ - 1);
        return places[at];
    }

private:
    Stack<int32_t> places_;  // only room is taken
    int64_t size_ = 0;
};

constexpr int64_t TABLE_FROM = 16;  // pairs of corners per corner and dimension, to use a table
constexpr int64_t MANY = 96;        // corners per dimension of a section, to use a table

class Game;

template <int DIM, int WORDS>
class Box : public Layers<DIM> {
    using Base = Layers<DIM>;
    using Base::fail, Base::layers_, Base::limit_, Base::n_layers_, Base::out_, Base::patterns_,
        Base::problem_, Base::reach_, Base::stop_, Base::stopped_, Base::tick;

public:
    Box(const RegionProblem& problem, StopSignal* stop, bool polls)
        : Base(problem, stop, polls), d_(problem.domain.d), coarse_(d_ == 1 ? 1e-13 : 1e-6) {}
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
    int look_at(Chunk<DIM>& chunk, int m, const int32_t* candidates, int n, const Cell<WORDS>& cell);
    void split(Chunk<DIM>& chunk, const Cell<WORDS>& cell, uint64_t todo, uint64_t on);
    void count(const Chunk<DIM>& chunk, const Cell<WORDS>& cell, uint64_t todo);
    void count_section(const Chunk<DIM>& chunk, const Cell<WORDS>& cell, int k, uint64_t todo);
    void count_point(const Chunk<DIM>& chunk, const Cell<WORDS>& cell, int k, uint64_t todo);
    bool take_slots(Chunk<DIM>& chunk, int m, const Mask<WORDS>& used);
    void give_back_slots(const Chunk<DIM>& chunk, int m);
    void leaf(Chunk<DIM>& chunk, const Cell<WORDS>& cell, uint64_t on);
    void write_bits(Chunk<DIM>& chunk, uint64_t on);
    void last_split(Chunk<DIM>& chunk, const Cell<WORDS>& cell, int k, uint64_t on);
    void find_edges(const Cell<WORDS>& cell, int k);
    void pair_up(const Cell<WORDS>& cell);
    void pair_up_by_table(const Cell<WORDS>& cell);
    void pair_up_degenerate(const Cell<WORDS>& cell);
    void cross(const Chunk<DIM>& chunk, const Corner<WORDS>& v0, const Corner<WORDS>& v1, int k,
               uint64_t todo, bool placed, Corner<WORDS>& w);
    int64_t place(double t, double off, int64_t from, int64_t to, const Mask<WORDS>& mask);
    int64_t place(const Chunk<DIM>& chunk, int k, const Corner<WORDS>& v0, const Corner<WORDS>& v1,
                  const Mask<WORDS>& mask) {
        const Point<DIM>&p = points_[v0.point], &q = points_[v1.point];
        const Where<double> where{chunk.at(k, p), chunk.at(k, q), chunk.slack(k, p),
                                  chunk.slack(k, q)};
        return place(where.t, where.off, v0.point, v1.point, mask);
    }
    bool cut(Chunk<DIM>& chunk, const Cell<WORDS>& cell, uint64_t todo, uint64_t on);
    int gather(const Chunk<DIM>& chunk, uint64_t todo);
    bool play(const Chunk<DIM>& chunk, const Cell<WORDS>& cell, uint64_t todo);
    bool ask_corners(const Cell<WORDS>& cell, uint64_t todo);
    void settle_without_facets(uint64_t s);
    int64_t open_questions() const;
    bool play(Game& game, uint64_t these);
    bool begin_game(Game& game, const Chunk<DIM>& chunk, const Cell<WORDS>& cell, uint64_t todo);
    bool find_vertices(const Chunk<DIM>& chunk, const Cell<WORDS>& cell, uint64_t todo, bool bare);
    uint64_t most_crossed() const;
    bool cut_section(const Section& of, int64_t first, uint64_t lower);
    void find_lines(int64_t begin, int64_t n, uint64_t lower);
    int64_t list_crossed(int64_t first, int64_t last, int k);
    template <int VECTORS>
    bool meet_all(int64_t n, int k, uint64_t asked, uint64_t enough, uint64_t& both);
    void locate_crossings(const int32_t* lines, int k, Crossings& at);
    bool decide_at(Corner<WORDS>& w, uint64_t open);
    struct Signs {
        uint64_t pos, neg;
    };
    template <int VECTORS>
    Signs interpolate(const Line& line, double t, double off, int64_t corner);
    void add_values(const Section& section, int k, uint64_t asked);
    void begin_values();
    PELLUCID_INLINE double* values_of(int64_t corner) {
        return values_.data() + (corner - cut_.begin) * cut_.stride;
    }
    void find_parts(bool bare);
    void find_facets(const Section& section);
    int64_t list_parts();
    void visit(Chunk<DIM>& chunk, uint64_t todo, uint64_t on, int64_t first, int64_t n);
    void visit_part(Chunk<DIM>& chunk, uint64_t on, const Part& part);
    void locate(Point<DIM>& point, const Mask<WORDS>& mask);
    bool refine(Point<DIM>& point, const Mask<WORDS>& mask);
    int sign(const Chunk<DIM>& chunk, int k, const Corner<WORDS>& v);
    void tidy(Cell<WORDS>& cell);
    void emit(const Cell<WORDS>& cell);
    bool write_facets(const Mask<WORDS>& used, int16_t* place_of);
    void collect(int32_t layer, const Cell<WORDS>& cell, int64_t rest, int64_t rest_end);

    int32_t d_;
    double coarse_;  // bounds of new corners, relative, from which on they are refined
    Stack<Corner<WORDS>> corners_;
    Stack<Point<DIM>> points_;
    Plane<DIM> planes_[SLOTS];
    Stack<Plane<DIM>> displaced_;  // what slots hold for cells further up
    Stack<int32_t> candidates_;
    Stack<int64_t> above_, below_;      // corners on each side of the current cut
    Stack<Mask<WORDS>> masks_;          // of those on one side
    EdgeTable<WORDS> table_;            // of edges of the other side
    Stack<Edge> edges_;                 // that the current cut crosses
    Mask<WORDS> shared_[SLOTS];         // by slot, what all corners on it lie on
    Cut<DIM> cut_;
    Stack<double> values_, errors_;     // of the cut's switches at its corners; only room is taken
    Stack<Line> lines_;
    Stack<int32_t> crossed_;            // lines that the current switch crosses
    Stack<Section> sections_;
    uint64_t facets_at_[1 << AT_ONCE];        // by pattern
    uint64_t through_at_[1 << AT_ONCE] = {};  // facets through the corners of one section
    uint16_t signs_[1 << AT_ONCE];            // that these corners have
    int64_t members_at_[1 << AT_ONCE];
    uint64_t possible_at_[1 << AT_ONCE];  // facets that a game has not ruled out
    int8_t occurs_at_[1 << AT_ONCE];      // whether there is a part: Game::Answer
    Stack<float> game_values_;            // only room is taken
    Stack<uint32_t> game_masks_;
    Stack<Part> parts_;
    Stack<int32_t> members_;            // corners of parts
    bool collecting_ = false;
    Tasks<DIM, WORDS>* tasks_ = nullptr;
    Tasks<DIM, WORDS>* next_tasks_ = nullptr;
};

}  // namespace
}  // namespace pellucid::PELLUCID_ISA
