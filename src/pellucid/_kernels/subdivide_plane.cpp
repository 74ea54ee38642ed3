// The inner loops of subdivide_plane, compiled once for each instruction set.
#include "subdivide_plane.hpp"

#include <cstdlib>
#include <cstring>

#include "isa/affine_maps.hpp"

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

struct Layer {
    RegionLayer of;
    int64_t switches, first;  // first: number of its first switch in the network
    Columns columns;
    AffineMap map;
    uint64_t* pattern;
};

class Subdivision : public PlaneSubdivision {
public:
    Subdivision(const PlaneProblem& problem, StopSignal* stop, bool polls)
        : problem_(problem), stop_(stop), polls_(polls) {
        stopped_ = !set_up();
        if (stopped_) fail();
    }

    ~Subdivision() {
        if (exact_) free_exact(exact_);
        std::free(block_);
        std::free(layers_);
        std::free(patterns_);
        delete tasks_;
        delete next_tasks_;
    }

    int64_t prepare(RegionOutput* out);
    void run(const Subdivision& from, int64_t task, int64_t limit, RegionOutput* out);

private:
    bool set_up();
    void set_up_layer(int32_t l);
    void set_up_first_map();
    void fail() {
        stopped_ = true;
        stop_->value.store(int(Stop::out_of_memory));
    }
    void tick(int64_t regions);

    void update_map(int32_t l);
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

    PlaneProblem problem_;
    StopSignal* stop_;
    bool polls_;
    bool stopped_ = false;
    int32_t n_layers_ = 0;
    Layer* layers_ = nullptr;
    const uint64_t** patterns_ = nullptr;
    void* block_ = nullptr;
    uint64_t* prefix_ = nullptr;  // packed pattern of all layers but the last
    ExactPredicates* exact_ = nullptr;

    Stack<Vertex> cells_;
    Stack<Line> lines_;
    Stack<int32_t> candidates_;
    Stack<Term> terms_;
    RegionOutput* out_ = nullptr;
    int64_t limit_ = 0, ticks_ = 0;
    bool collecting_ = false;
    Tasks* tasks_ = nullptr;
    Tasks* next_tasks_ = nullptr;
};

// --- set-up ----------------------------------------------------------------------------------------

bool Subdivision::set_up() {
    n_layers_ = problem_.n_layers;
    layers_ = static_cast<Layer*>(std::calloc(size_t(n_layers_) + 1, sizeof(Layer)));
    patterns_ = static_cast<const uint64_t**>(std::calloc(size_t(n_layers_) + 1, sizeof(uint64_t*)));
    if (!layers_ || !patterns_) return false;
    int64_t doubles = PAD, all_switches = 0, all_words = 0;
    for (int32_t l = 0; l < n_layers_; ++l) {
        Layer& layer = layers_[l];
        layer.of = problem_.layers[l];
        layer.switches = layer.of.switches();
        layer.first = all_switches;
        all_switches += layer.switches;
        const int64_t inputs = l == 0 ? 0 : layer.of.inputs;
        layer.columns.stride = padded(layer.of.units);
        doubles += layer.columns.stride * (inputs + 4) + inputs;
        const int64_t before = l == 0 ? 0 : words(layers_[l - 1].switches);
        all_words += words(layer.switches) + 1 + before;
    }
    all_words += words(all_switches) + 2;
    const size_t bytes = (size_t(doubles + all_words) * 8 + 127) / 64 * 64;
    block_ = std::aligned_alloc(64, bytes);
    if (!block_) return false;
    std::memset(block_, 0, bytes);
    double* next = static_cast<double*>(block_);
    for (int32_t l = 0; l < n_layers_; ++l) {
        Layer& layer = layers_[l];
        const int64_t inputs = l == 0 ? 0 : layer.of.inputs, stride = layer.columns.stride;
        layer.columns.W = next, next += stride * inputs;
        layer.columns.b = next, next += stride;
        layer.map.ax = next, next += stride;
        layer.map.ay = next, next += stride;
        layer.map.c = next, next += stride;
    }
    for (int32_t l = 1; l < n_layers_; ++l)
        layers_[l].columns.largest = next, next += layers_[l].of.inputs;
    uint64_t* word = reinterpret_cast<uint64_t*>(next);
    for (int32_t l = 0; l < n_layers_; ++l) {
        layers_[l].pattern = word, word += words(layers_[l].switches) + 1;
        patterns_[l] = layers_[l].pattern;
        if (l > 0) layers_[l].map.pattern = word, word += words(layers_[l - 1].switches);
    }
    prefix_ = word;
    for (int32_t l = 0; l < n_layers_; ++l) set_up_layer(l);
    if (n_layers_ > 0) set_up_first_map();
    return true;
}

void Subdivision::set_up_layer(int32_t l) {
    Layer& layer = layers_[l];
    Columns& columns = layer.columns;
    columns.units = layer.of.units;
    columns.inputs = layer.of.inputs;
    for (int64_t i = 0; i < columns.units; ++i) {
        double sum = 0, square = 0;
        const double* row = layer.of.W + i * columns.inputs;
        for (int64_t j = 0; j < columns.inputs; ++j) {
            const double w = magnitude(row[j]);
            sum += w;
            square += w * w;
            if (l == 0) continue;
            columns.W[j * columns.stride + i] = row[j];
            columns.largest[j] = larger(columns.largest[j], w);
        }
        columns.row_sum = larger(columns.row_sum, sum);
        columns.row_norm = larger(columns.row_norm, __builtin_sqrt(square));
        columns.b[i] = layer.of.b[i];
        columns.b_largest = larger(columns.b_largest, magnitude(layer.of.b[i]));
    }
    columns.row_sum *= 1 + double(columns.inputs) * 2 * U;
    columns.row_norm = columns.row_norm * UP + 1e-150;  // squares may underflow
    columns.spectral = __builtin_inf();
    // Worth its time only where errors pass through many layers.
    if (l > 0 && n_layers_ >= 4 && columns.units <= 512 && columns.inputs <= 4096) {
        Stack<double> G;
        const int64_t size = columns.units * columns.stride;
        if (!G.room(size + PAD)) return fail();
        const uintptr_t at = (reinterpret_cast<uintptr_t>(G.data()) + 63) / 64 * 64;
        columns.spectral = spectral_bound(columns, reinterpret_cast<double*>(at)) + 1e-70;
    }
    for (int32_t k = 0; k < layer.of.n_kinks; ++k)
        columns.kink_largest = larger(columns.kink_largest, magnitude(layer.of.kink[k]));
    for (int32_t p = 0; p <= layer.of.n_kinks; ++p)
        columns.steepest = larger(columns.steepest, magnitude(layer.of.slope[p]));
}

void Subdivision::set_up_first_map() {
    Layer& layer = layers_[0];
    AffineMap& map = layer.map;
    const RegionDomain& domain = problem_.domain;
    const double *u = domain.axes, *v = domain.axes + domain.d_in;
    double largest_sum = 0, largest = 0, largest_c = 0;
    for (int64_t i = 0; i < layer.of.units; ++i) {
        const double* row = layer.of.W + i * layer.of.inputs;
        double x = 0, y = 0, c = 0, sum = 0;
        for (int64_t j = 0; j < layer.of.inputs; ++j) {
            x += row[j] * u[j];
            y += row[j] * v[j];
            c += row[j] * domain.origin[j];
            sum += magnitude(row[j]) * larger(magnitude(u[j]), larger(magnitude(v[j]),
                                                                      magnitude(domain.origin[j])));
        }
        map.ax[i] = x, map.ay[i] = y, map.c[i] = c + layer.of.b[i];
        largest_sum = larger(largest_sum, sum + magnitude(layer.of.b[i]));
        largest = larger(largest, larger(magnitude(x), magnitude(y)));
        largest_c = larger(largest_c, magnitude(map.c[i]));
    }
    map.largest_c = largest_c;
    map.largest = larger(largest, largest_c + layer.columns.kink_largest);
    map.err = double(2 * layer.of.inputs + 4) * U * largest_sum * UP + TINY;
    if (!(largest_sum < 1e300)) map.err = __builtin_inf();
    map.err2 = map.err * __builtin_sqrt(double(layer.of.units)) * UP;
    map.version = 1;
}

// --- the affine map of a layer ---------------------------------------------------------------------

PELLUCID_INLINE int piece(const RegionLayer& layer, const uint64_t* pattern, int64_t unit) {
    if (layer.n_kinks == 1) return bit(pattern, unit);
    if (layer.n_kinks == 0) return 0;
    return bit(pattern, 2 * unit) + bit(pattern, 2 * unit + 1);
}

// Composes layer l's map under the pattern of the layer before: by the units that flipped since it
// was last composed, where the layer before still has the same map; from the start otherwise.
void Subdivision::update_map(int32_t l) {
    Layer& layer = layers_[l];
    const Layer& before = layers_[l - 1];
    AffineMap& map = layer.map;
    const int64_t n_words = words(before.switches);
    bool fresh = map.built_on != before.map.version || map.updates > 4 * before.of.units + 64;
    if (!fresh) {
        int64_t flips = 0;
        for (int64_t w = 0; w < n_words; ++w)
            flips += __builtin_popcountll(map.pattern[w] ^ before.pattern[w]);
        if (flips == 0) return;
        fresh = flips > before.of.units / 4 + 1;
    }
    if (!terms_.room(before.of.units)) return fail();
    const RegionLayer& of = before.of;
    double sum = 0, largest = 0;
    int64_t n = 0;
    Term* terms = terms_.data();
    auto add = [&](int64_t j, double slope, double intercept) {
        if (slope == 0 && intercept == 0) return;
        const double c = slope * before.map.c[j];
        terms[n] = {j, slope * before.map.ax[j], slope * before.map.ay[j], c + intercept};
        const double g = larger(larger(magnitude(terms[n].x), magnitude(terms[n].y)),
                                magnitude(c) + magnitude(intercept));
        sum += layer.columns.largest[j] * g;
        largest = larger(largest, g);
        ++n;
    };
    if (fresh && of.n_kinks == 1 && of.slope[0] == 0 && of.intercept[0] == 0) {
        for (int64_t w = 0; w < n_words; ++w)
            for (uint64_t active = before.pattern[w]; active; active &= active - 1)
                add(64 * w + __builtin_ctzll(active), of.slope[1], of.intercept[1]);
    } else if (fresh) {
        for (int64_t j = 0; j < of.units; ++j) {
            const int p = piece(of, before.pattern, j);
            add(j, of.slope[p], of.intercept[p]);
        }
    } else {
        int64_t previous = -1;
        for (int64_t w = 0; w < n_words; ++w) {
            for (uint64_t flipped = map.pattern[w] ^ before.pattern[w]; flipped;
                 flipped &= flipped - 1) {
                const int64_t j = (64 * w + __builtin_ctzll(flipped)) / of.n_kinks;
                if (j == previous) continue;  // both switches of one unit
                previous = j;
                const int p = piece(of, map.pattern, j), q = piece(of, before.pattern, j);
                add(j, of.slope[q] - of.slope[p], of.intercept[q] - of.intercept[p]);
            }
        }
    }
    accumulate(map, layer.columns, before.map, before.columns.steepest, terms, n, sum * UP, largest,
               fresh);
    map.built_on = before.map.version;
    for (int64_t w = 0; w < n_words; ++w) map.pattern[w] = before.pattern[w];
}

// --- cells -----------------------------------------------------------------------------------------

// Layer l begins on a cell; memory from `top` on is free.
void Subdivision::enter(int32_t l, int64_t begin, int64_t n, int64_t top) {
    if (stopped_) return;
    if (l == n_layers_) {
        if (collecting_) return collect(l, begin, n, 0, 0);
        if (problem_.count_only) return tick(1);
        return emit(begin, n);
    }
    if (l > 0) update_map(l);
    if (stopped_) return;
    if (layers_[l].of.n_kinks == 0) return enter(l + 1, begin, n, top);
    const int64_t first = candidates_.size;
    evaluate(l, begin, n);
    resolve(l, begin, n, top, first, candidates_.size);
    candidates_.size = first;
}

// Writes the bits of switches that have one proved sign at all vertices; the others are candidates.
void Subdivision::evaluate(int32_t l, int64_t begin, int64_t n) {
    Layer& layer = layers_[l];
    const AffineMap& map = layer.map;
    const int kinks = layer.of.n_kinks;
    if (!candidates_.room(layer.switches)) return fail();
    Vertex* v = &cells_[begin];
    double slack = 0;
    const double err = evaluation_error(map), reach = 2 * (map.largest + map.err);
    for (int64_t i = 0; i < n; ++i) {
        const double X = magnitude(v[i].x) + magnitude(v[i].y) + 1;
        v[i].slack = (reach * v[i].delta + err * X + TINY) * UP;
        slack = v[i].slack > slack || v[i].slack != v[i].slack ? v[i].slack : slack;
    }
    for (int64_t w = 0; w < words(layer.switches); ++w) layer.pattern[w] = 0;
    int32_t* found = candidates_.data() + candidates_.size;
    const vd bound = all(slack);
    const int64_t units = layer.of.units;
    for (int64_t i = 0; i < units; i += D) {
        const vd ax = load(map.ax + i), ay = load(map.ay + i), c = load(map.c + i);
        vd lowest = ax * all(v[0].x) + (ay * all(v[0].y) + c), topmost = lowest;
        for (int64_t k = 1; k < n; ++k) {
            const vd s = ax * all(v[k].x) + (ay * all(v[k].y) + c);
            lowest = min(lowest, s);
            topmost = max(topmost, s);
        }
        const unsigned valid = units - i >= D ? (1u << D) - 1 : (1u << (units - i)) - 1;
        if (kinks == 1) {  // kink may be another number than 0
            const vd kink = all(layer.of.kink[0]);
            const unsigned on = greater(lowest - kink, bound) & valid;
            unsigned open = ~(on | greater(kink - topmost, bound)) & valid;
            layer.pattern[i >> 6] |= uint64_t(on) << (i & 63);
            for (; open; open &= open - 1) *found++ = int32_t(i + __builtin_ctz(open));
        } else {
            unsigned on[2], open[2];
            for (int k = 0; k < 2; ++k) {
                const vd kink = all(layer.of.kink[k]);
                on[k] = greater(lowest - kink, bound) & valid;
                open[k] = ~(on[k] | greater(kink - topmost, bound)) & valid;
            }
            for (int64_t j = 0; j < D; ++j)
                for (int k = 0; k < 2; ++k) {
                    const int64_t s = 2 * (i + j) + k;
                    layer.pattern[s >> 6] |= uint64_t(on[k] >> j & 1) << (s & 63);
                    if (open[k] >> j & 1) *found++ = int32_t(s);
                }
        }
    }
    const int64_t n_found = found - (candidates_.data() + candidates_.size);
    out_->by_filter += n * (layer.switches - n_found);
    candidates_.size += n_found;
}

PELLUCID_INLINE double at(const Switch& s, const Vertex& v) {
    return s.ax * v.x + (s.ay * v.y + s.c);
}

int Subdivision::decide(const Line& a, const Line& b, LineId of, double s) {
    if (!problem_.exact) {
        ++out_->undecided;
        return s > 0 ? 1 : s < 0 ? -1 : 0;
    }
    ++out_->by_exact;
    if (!exact_) exact_ = make_exact(problem_.layers, n_layers_, problem_.domain);
    const LineId through[2] = {a.id, b.id};
    return exact_sign(exact_, patterns_, through, of);
}

// Looks at candidates [rest, rest_end) of a layer until 64 of them split the cell; then splits it.
void Subdivision::resolve(int32_t l, int64_t begin, int64_t n, int64_t top, int64_t rest,
                          int64_t rest_end) {
    Layer& layer = layers_[l];
    Chunk chunk;
    chunk.layer = l;
    chunk.err = evaluation_error(layer.map);
    chunk.largest = layer.map.largest;
    Vertex* v = &cells_[begin];
    const double reach = 2 * (layer.map.largest + layer.map.err);
    for (int64_t i = 0; i < n; ++i) {
        const double X = magnitude(v[i].x) + magnitude(v[i].y) + 1;
        v[i].slack = (reach * v[i].delta + chunk.err * X + TINY) * UP;
        v[i].pos = v[i].neg = 0;
    }
    const int kinks = layer.of.n_kinks, room = collecting_ ? 16 : 64;
    int m = 0;
    for (; rest < rest_end && m < room; ++rest) {
        const int32_t index = candidates_[rest];
        const int32_t unit = kinks == 1 ? index : index >> 1;
        const double kink = layer.of.kink[kinks == 1 ? 0 : index & 1];
        const Switch s{layer.map.ax[unit], layer.map.ay[unit], layer.map.c[unit] - kink, index};
        bool above = false, below = false;
        for (int64_t i = 0; i < n; ++i) {
            const double value = at(s, v[i]);
            int sign = value > v[i].slack ? 1 : -value > v[i].slack ? -1 : 0;
            if (sign != 0)
                ++out_->by_filter;
            else
                sign = decide(lines_[v[i > 0 ? i - 1 : n - 1].line], lines_[v[i].line], {l, index},
                              value);
            above |= sign > 0, below |= sign < 0;
            v[i].pos |= uint64_t(sign > 0) << m;
            v[i].neg |= uint64_t(sign < 0) << m;
        }
        const uint64_t word_bit = uint64_t(1) << (index & 63);
        uint64_t& word = layer.pattern[index >> 6];
        if (above && below) {
            chunk.switches[m++] = s;
            word &= ~word_bit;
        } else {
            word = above ? word | word_bit : word & ~word_bit;
            const uint64_t keep = ~(uint64_t(1) << m);
            for (int64_t i = 0; i < n; ++i) v[i].pos &= keep, v[i].neg &= keep;
        }
    }
    chunk.rest = rest, chunk.rest_end = rest_end;
    chunk.on = 0;
    chunk.last = l + 1 == n_layers_ && rest == rest_end;
    chunk.counting = chunk.last && problem_.count_only && !collecting_;
    split(chunk, begin, n, top, m == 64 ? ~uint64_t(0) : (uint64_t(1) << m) - 1, 0);
}

// The vertex w in which the zero line of switch k meets the edge from v0 to v1.
void Subdivision::cross(const Chunk& chunk, const Vertex& v0, const Vertex& v1, int k,
                        uint64_t todo, const Line& cut, Vertex& w) {
    const Line& edge = lines_[v0.line];
    const double a0 = magnitude(at(chunk.switches[k], v0));
    const double a1 = magnitude(at(chunk.switches[k], v1));
    double t = a0 / (a0 + a1);
    if (!(t >= 0 && t <= 1)) t = 0.5;
    const double dx = v1.x - v0.x, dy = v1.y - v0.y;
    w.x = v0.x + t * dx;
    w.y = v0.y + t * dy;
    // (2)
    const double X = magnitude(w.x) + magnitude(w.y) + 1;
    const double length = larger(magnitude(dx), magnitude(dy));
    const double on_edge = larger(v0.delta, v1.delta) + length + 8 * U * (X + length);
    const double r1 = magnitude(edge.ax * w.x + (edge.ay * w.y + edge.c)) + edge.err * X;
    const double r2 = magnitude(cut.ax * w.x + (cut.ay * w.y + cut.c)) + cut.err * X;
    const double det = magnitude(edge.ax * cut.ay - edge.ay * cut.ax) -
                       2 * (edge.largest * cut.err + cut.largest * edge.err + edge.err * cut.err) -
                       4 * U * edge.largest * cut.largest;
    const double ex = magnitude(edge.ax) + edge.err, ey = magnitude(edge.ay) + edge.err;
    const double cx = magnitude(cut.ax) + cut.err, cy = magnitude(cut.ay) + cut.err;
    const double by_lines = larger(cy * r1 + ey * r2, cx * r1 + ex * r2) / det + TINY;
    w.delta = UP * (det > 0 && by_lines < on_edge ? by_lines : on_edge);
    w.slack = (2 * (chunk.largest + chunk.err) * w.delta + chunk.err * X + TINY) * UP;
    // A sign that both ends share, or that one end has where the other is on the line.
    w.pos = (v0.pos & ~v1.neg) | (v1.pos & ~v0.neg);
    w.neg = (v0.neg & ~v1.pos) | (v1.neg & ~v0.pos);
    w.line = v0.line;
    for (uint64_t open = ((v0.pos & v1.neg) | (v0.neg & v1.pos)) & todo; open; open &= open - 1) {
        const int j = __builtin_ctzll(open);
        const double value = at(chunk.switches[j], w);
        int sign = value > w.slack ? 1 : -value > w.slack ? -1 : 0;
        if (sign != 0)
            ++out_->by_filter;
        else
            sign = decide(edge, cut, {chunk.layer, chunk.switches[j].index}, value);
        w.pos |= uint64_t(sign > 0) << j;
        w.neg |= uint64_t(sign < 0) << j;
    }
}

// Splits the cell by the chunk's switches in `todo`, all of which have vertices on both sides.
// `on`: those known to be positive; `top`: where free memory begins.
void Subdivision::split(Chunk& chunk, int64_t begin, int64_t n, int64_t top, uint64_t todo,
                        uint64_t on) {
    if (stopped_) return;
    if (todo == 0) return leaf(chunk, begin, n, top, on);
    if (chunk.counting && (todo & (todo - 1)) == 0) return tick(2);
    const int k = __builtin_ctzll(todo);
    const uint64_t others = todo & (todo - 1), this_bit = todo ^ others;
    cells_.size = top;
    if (!cells_.room(4 * n + 8) || !lines_.room(1)) return fail();

    const int64_t cut = lines_.size++;
    const Switch& s = chunk.switches[k];
    lines_[cut] = {s.ax, s.ay, s.c, chunk.err, chunk.largest, {chunk.layer, s.index},
                   int32_t(layers_[chunk.layer].first + s.index)};
    const Vertex* v = &cells_[begin];
    const int64_t below_begin = top + 2 * n + 2;
    Vertex *P = &cells_[top], *N = &cells_[below_begin];
    uint64_t P_pos = 0, P_neg = 0, N_pos = 0, N_neg = 0;
    int side = int(v[0].pos >> k & 1) - int(v[0].neg >> k & 1);
    for (int64_t i = 0; i < n; ++i) {
        const Vertex& at_i = v[i];
        const Vertex& next = v[i + 1 < n ? i + 1 : 0];
        const int next_side = int(next.pos >> k & 1) - int(next.neg >> k & 1);
        if (side >= 0) {
            *P = at_i;
            if (side == 0 && next_side < 0) P->line = cut;
            P_pos |= at_i.pos, P_neg |= at_i.neg;
            ++P;
        }
        if (side <= 0) {
            *N = at_i;
            if (side == 0 && next_side > 0) N->line = cut;
            N_pos |= at_i.pos, N_neg |= at_i.neg;
            ++N;
        }
        if (side * next_side < 0) {
            cross(chunk, at_i, next, k, others, lines_[cut], *P);
            *N = *P;
            (side > 0 ? P : N)->line = cut;
            P_pos |= P->pos, P_neg |= P->neg, N_pos |= P->pos, N_neg |= P->neg;
            ++P, ++N;
        }
        side = next_side;
    }
    const int64_t n_above = P - &cells_[top], n_below = N - &cells_[below_begin];
    const int64_t new_top = below_begin + n_below;
    const uint64_t above_todo = others & P_pos & P_neg, below_todo = others & N_pos & N_neg;
    const uint64_t above_on = on | this_bit | (others & ~above_todo & P_pos);
    const uint64_t below_on = on | (others & ~below_todo & N_pos);
    // The side of the last leaf first: fewer units flip between one leaf and the next.
    if (chunk.on & this_bit) {
        split(chunk, top, n_above, new_top, above_todo, above_on);
        split(chunk, below_begin, n_below, new_top, below_todo, below_on);
    } else {
        split(chunk, below_begin, n_below, new_top, below_todo, below_on);
        split(chunk, top, n_above, new_top, above_todo, above_on);
    }
    lines_.size = cut;
}

// A cell that no switch of the chunk splits.
void Subdivision::leaf(Chunk& chunk, int64_t begin, int64_t n, int64_t top, uint64_t on) {
    uint64_t* pattern = layers_[chunk.layer].pattern;
    for (uint64_t flipped = chunk.on ^ on; flipped; flipped &= flipped - 1) {
        const int32_t index = chunk.switches[__builtin_ctzll(flipped)].index;
        pattern[index >> 6] ^= uint64_t(1) << (index & 63);
    }
    chunk.on = on;
    if (collecting_) return collect(chunk.layer, begin, n, chunk.rest, chunk.rest_end);
    if (chunk.rest < chunk.rest_end)
        return resolve(chunk.layer, begin, n, top, chunk.rest, chunk.rest_end);
    enter(chunk.layer + 1, begin, n, top);
}

// --- what comes out --------------------------------------------------------------------------------

void Subdivision::tick(int64_t regions) {
    out_->regions += regions;
    if (limit_ > 0 && out_->regions >= limit_) stopped_ = true;
    if (++ticks_ & 4095) return;
    if (polls_ && stop_->poll && stop_->poll(stop_->poll_data))
        stop_->value.store(int(Stop::asked));
    if (stop_->value.load() != int(Stop::none)) stopped_ = true;
}

void Subdivision::emit(int64_t begin, int64_t n) {
    RegionOutput& out = *out_;
    const int64_t bytes = problem_.bytes;
    const size_t r = size_t(out.regions), p = size_t(out.vertices);
    if (!out.patterns.reserve((r + 1) * size_t(bytes) + 8 * size_t(words(problem_.switches) + 1)) ||
        !out.points.reserve((p + size_t(n)) * 16) || !out.edges.reserve((p + size_t(n)) * 4) ||
        !out.offsets.reserve((r + 2) * 8))
        return fail();
    unsigned char* packed = static_cast<unsigned char*>(out.patterns.data) + r * size_t(bytes);
    int64_t bits = 0;  // deposited so far
    uint64_t carry = 0;
    for (int32_t l = 0; l < n_layers_; ++l) {
        const Layer& layer = layers_[l];
        const int shift = int(bits & 63);
        unsigned char* at_word = packed + (bits >> 6) * 8;
        for (int64_t w = 0; w < words(layer.switches); ++w, at_word += 8) {
            const uint64_t word = layer.pattern[w];
            const uint64_t merged = carry | word << shift;
            std::memcpy(at_word, &merged, 8);
            carry = shift == 0 ? 0 : word >> (64 - shift);
            if (layer.switches - 64 * w + shift < 64) carry = merged;  // the word is not full yet
        }
        bits += layer.switches;
    }
    if (bits & 63) std::memcpy(packed + (bits >> 6) * 8, &carry, 8);

    double* point = static_cast<double*>(out.points.data) + 2 * p;
    int32_t* edge = static_cast<int32_t*>(out.edges.data) + p;
    const Vertex* v = &cells_[begin];
    for (int64_t i = 0; i < n; ++i) {
        point[2 * i] = v[i].x, point[2 * i + 1] = v[i].y;
        edge[i] = lines_[v[i].line].number;
        out.vertex_error = larger(out.vertex_error, v[i].delta);
    }
    out.vertices += n;
    static_cast<int64_t*>(out.offsets.data)[r + 1] = out.vertices;
    tick(1);
}

// --- tasks -----------------------------------------------------------------------------------------

void Subdivision::collect(int32_t layer, int64_t begin, int64_t n, int64_t rest, int64_t rest_end) {
    Tasks& to = *next_tasks_;
    const Task task{layer, to.vertices.size, n, to.lines.size, lines_.size, to.rest.size,
                    rest_end - rest, to.words.size};
    bool ok = to.tasks.push(task) && to.vertices.room(n) && to.lines.room(lines_.size) &&
              to.rest.room(rest_end - rest);
    for (int64_t i = 0; ok && i < n; ++i) ok = to.vertices.push(cells_[begin + i]);
    for (int64_t i = 0; ok && i < lines_.size; ++i) ok = to.lines.push(lines_[i]);
    for (int64_t i = rest; ok && i < rest_end; ++i) ok = to.rest.push(candidates_[i]);
    for (int32_t l = 0; ok && l <= layer && l < n_layers_; ++l)
        for (int64_t w = 0; ok && w < words(layers_[l].switches); ++w)
            ok = to.words.push(layers_[l].pattern[w]);
    if (!ok) fail();
}

// The rectangle as one task; where there is much to do, split a few times into more.
int64_t Subdivision::prepare(RegionOutput* out) {
    out_ = out;
    tasks_ = new Tasks;
    next_tasks_ = new Tasks;
    if (stopped_ || !cells_.room(4) || !lines_.room(4)) return fail(), 0;
    const double *low = problem_.domain.low, *high = problem_.domain.high;
    const double corner[4][2] = {
        {low[0], low[1]}, {high[0], low[1]}, {high[0], high[1]}, {low[0], high[1]}};
    const int side[4] = {2, 1, 3, 0};  // of the edge that follows each corner
    for (int i = 0; i < 4; ++i) {
        const bool x_side = side[i] < 2;
        const double at_side = (side[i] & 1 ? high : low)[side[i] / 2];
        lines_[i] = {double(x_side), double(!x_side), -at_side, 0,
                     larger(1, magnitude(at_side)), LineId::side(side[i]), ~side[i]};
        cells_[i] = {corner[i][0], corner[i][1], 0, 0, 0, 0, i, 0};
    }
    cells_.size = lines_.size = 4;
    collect(-1, 0, 4, 0, 0);
    if (stopped_) return 0;
    for (int round = 0; round < 8; ++round) {
        Tasks* old = tasks_;
        tasks_ = next_tasks_;
        next_tasks_ = old;
        const int64_t n = tasks_->tasks.size;
        if (n >= 48 || problem_.switches < 128) break;
        Tasks& to = *next_tasks_;
        to.tasks.size = to.vertices.size = to.lines.size = to.rest.size = to.words.size = 0;
        collecting_ = true;
        for (int64_t i = 0; i < n && !stopped_; ++i) run(*this, i, 0, out);
        collecting_ = false;
        if (stopped_) return 0;
    }
    return tasks_->tasks.size;
}

void Subdivision::run(const Subdivision& from, int64_t index, int64_t limit, RegionOutput* out) {
    const Tasks& tasks = *from.tasks_;
    const Task& task = tasks.tasks[index];
    out_ = out;
    limit_ = limit > 0 ? out->regions + limit : 0;
    stopped_ = stop_->value.load() != int(Stop::none);
    cells_.size = lines_.size = candidates_.size = 0;
    if (stopped_) return;
    bool ok = cells_.room(task.n_vertices) && lines_.room(task.n_lines);
    for (int64_t i = 0; ok && i < task.n_vertices; ++i)
        ok = cells_.push(tasks.vertices[task.vertices + i]);
    for (int64_t i = 0; ok && i < task.n_lines; ++i) ok = lines_.push(tasks.lines[task.lines + i]);
    for (int64_t i = 0; ok && i < task.n_rest; ++i)
        ok = candidates_.push(tasks.rest[task.rest + i]);
    if (!ok) return fail();
    int64_t word = task.words;
    for (int32_t l = 0; l <= task.layer && l < n_layers_; ++l) {
        for (int64_t w = 0; w < words(layers_[l].switches); ++w)
            layers_[l].pattern[w] = tasks.words[word++];
        layers_[l].map.built_on = 0;  // maps do not depend on the task before
        if (l > 0) update_map(l);
    }
    for (int32_t l = task.layer + 1; l < n_layers_; ++l) layers_[l].map.built_on = 0;
    if (stopped_) return;
    if (task.n_rest > 0) return resolve(task.layer, 0, task.n_vertices, task.n_vertices, 0, task.n_rest);
    enter(task.layer == n_layers_ ? n_layers_ : task.layer + 1, 0, task.n_vertices, task.n_vertices);
}

}  // namespace

extern const PlaneKernel plane_kernel;
const PlaneKernel plane_kernel{
    PELLUCID_ISA_NAME,
    [](const PlaneProblem& problem, StopSignal* stop, bool polls) -> PlaneSubdivision* {
        return new Subdivision(problem, stop, polls);
    },
    [](PlaneSubdivision* s) { delete static_cast<Subdivision*>(s); },
    [](PlaneSubdivision* s, RegionOutput* out) {
        return static_cast<Subdivision*>(s)->prepare(out);
    },
    [](PlaneSubdivision* s, const PlaneSubdivision* tasks, int64_t task, int64_t limit,
       RegionOutput* out) {
        static_cast<Subdivision*>(s)->run(*static_cast<const Subdivision*>(tasks), task, limit, out);
    }};

}  // namespace pellucid::PELLUCID_ISA
