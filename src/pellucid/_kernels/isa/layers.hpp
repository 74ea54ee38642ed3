// What every subdivision has: the layers with their weights by column and their affine maps on the
// current cell, and the ways to end.
//
// Everything is in the instruction set's own namespace and an unnamed one: only subdivide_plane.cpp
// and subdivide_box.cpp include this file.
#pragma once

#include <cstdlib>
#include <cstring>

#include "../region_driver.hpp"
#include "affine_maps.hpp"

namespace pellucid::PELLUCID_ISA {
namespace {

template <int DIM>
struct Layer {
    RegionLayer of;
    int64_t switches, first;  // first: number of its first switch in the network
    Columns columns;
    AffineMap<DIM> map;
    uint64_t* pattern;
};

// DIM: at least the domain's dimension d; coordinates beyond d are zero.
template <int DIM>
class Layers : public AnySubdivision {
protected:
    Layers(const RegionProblem& problem, StopSignal* stop, bool polls)
        : problem_(problem), stop_(stop), polls_(polls) {
        stopped_ = !set_up();
        if (stopped_) fail();
    }

    ~Layers() {
        if (exact_) free_exact(exact_);
        std::free(block_);
        std::free(layers_);
        std::free(patterns_);
    }
    Layers(const Layers&) = delete;

    void fail(Stop why = Stop::out_of_memory) {
        stopped_ = true;
        stop_->value.store(int(why));
    }

    // Counts regions, and looks at whether to end.
    void tick(int64_t regions) {
        out_->regions += regions;
        if (limit_ > 0 && out_->regions >= limit_) stopped_ = true;
        if (out_->regions >= out_->hand_over_at && !hand_over(problem_.sink, *out_))
            fail(Stop::asked);
        worked(1);
    }

    // Looks at whether to end, each time that some 4096 regions' work is done.
    void worked(int64_t amount) {
        ticks_ += amount;
        if (ticks_ < 4096) return;
        ticks_ = 0;
        if (polls_ && stop_->poll && stop_->poll(stop_->poll_data))
            stop_->value.store(int(Stop::asked));
        if (stop_->value.load() != int(Stop::none)) stopped_ = true;
    }

    // Sign of `of` where the `n` hyperplanes `through` meet; s: what floating point says.
    int decide(const LineId* through, int32_t n, LineId of, double s) {
        if (!problem_.exact) {
            ++out_->undecided;
            return s > 0 ? 1 : s < 0 ? -1 : 0;
        }
        ++out_->by_exact;
        worked(64);
        if (!exact_) exact_ = make_exact(problem_.layers, n_layers_, problem_.domain);
        return exact_sign(exact_, patterns_, through, n, of);
    }

    // The point where the `n` hyperplanes `through` meet, rounded; how far a coordinate is off.
    double locate(const LineId* through, int32_t n, double* x) {
        worked(64);
        if (!exact_) exact_ = make_exact(problem_.layers, n_layers_, problem_.domain);
        exact_point(exact_, patterns_, through, n, x);
        double largest = 0;
        for (int d = 0; d < problem_.domain.d; ++d) largest = larger(largest, magnitude(x[d]));
        return 16 * U * largest;  // 2^-49
    }

    // Whether a corner that is so far off is to be located exactly before it is written out.
    bool is_coarse(double delta) const { return problem_.exact && !(delta <= fine_); }

    // Ends the search where the stack does; at the start of a task it begins to count.
    void on_stack(bool start = false) {
        const char* here = static_cast<const char*>(__builtin_frame_address(0));
        if (start) stack_ = here;
        if (stack_ - here > STACK) fail(Stop::too_deep);
    }

    void update_map(int32_t l);
    template <class Range>
    int64_t settle(int32_t l, double slack, int32_t* found, Range range);
    bool write_pattern(RegionOutput& out);

    RegionProblem problem_;
    StopSignal* stop_;
    bool polls_;
    bool stopped_ = false;
    int32_t n_layers_ = 0;
    Layer<DIM>* layers_ = nullptr;
    const uint64_t** patterns_ = nullptr;
    RegionOutput* out_ = nullptr;
    int64_t limit_ = 0, ticks_ = 0;
    double fine_ = 0;   // corners are written with a smaller error
    double reach_ = 1;  // no sum of coordinates is larger
    const char* stack_ = nullptr;

private:
    bool set_up();
    bool set_up_layer(int32_t l);
    bool set_up_first_map();

    void* block_ = nullptr;
    ExactPredicates* exact_ = nullptr;
    Stack<Term<DIM>> terms_;
};

template <int DIM>
bool Layers<DIM>::set_up() {
    n_layers_ = problem_.n_layers;
    for (int d = 0; d < problem_.domain.d; ++d)
        fine_ = larger(fine_, 1e-6 * (problem_.domain.high[d] - problem_.domain.low[d]));
    layers_ = static_cast<Layer<DIM>*>(std::calloc(size_t(n_layers_) + 1, sizeof(Layer<DIM>)));
    patterns_ = static_cast<const uint64_t**>(std::calloc(size_t(n_layers_) + 1, sizeof(uint64_t*)));
    if (!layers_ || !patterns_) return false;
    int64_t doubles = PAD, all_switches = 0, all_words = 0;
    for (int32_t l = 0; l < n_layers_; ++l) {
        Layer<DIM>& layer = layers_[l];
        layer.of = problem_.layers[l];
        layer.switches = layer.of.switches();
        layer.first = all_switches;
        all_switches += layer.switches;
        const int64_t inputs = l == 0 ? 0 : layer.of.inputs;
        layer.columns.stride = padded(layer.of.units);
        doubles += layer.columns.stride * (inputs + DIM + 2) + inputs;
        const int64_t before = l == 0 ? 0 : words(layers_[l - 1].switches);
        all_words += words(layer.switches) + 1 + before;
    }
    const size_t bytes = (size_t(doubles + all_words) * 8 + 127) / 64 * 64;
    block_ = std::aligned_alloc(64, bytes);
    if (!block_) return false;
    std::memset(block_, 0, bytes);
    double* next = static_cast<double*>(block_);
    for (int32_t l = 0; l < n_layers_; ++l) {
        Layer<DIM>& layer = layers_[l];
        const int64_t inputs = l == 0 ? 0 : layer.of.inputs, stride = layer.columns.stride;
        layer.columns.W = next, next += stride * inputs;
        layer.columns.b = next, next += stride;
        for (double*& a : layer.map.a) a = next, next += stride;
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
    for (int32_t l = 0; l < n_layers_; ++l)
        if (!set_up_layer(l)) return false;
    return n_layers_ == 0 || set_up_first_map();
}

template <int DIM>
bool Layers<DIM>::set_up_layer(int32_t l) {
    Layer<DIM>& layer = layers_[l];
    Columns& columns = layer.columns;
    columns.units = layer.of.units;
    columns.inputs = layer.of.inputs;
    for (int64_t i = 0; i < columns.units; ++i) {
        columns.b[i] = layer.of.b[i];
        columns.b_largest = larger(columns.b_largest, magnitude(layer.of.b[i]));
    }
    for (int32_t k = 0; k < layer.of.n_kinks; ++k)
        columns.kink_largest = larger(columns.kink_largest, magnitude(layer.of.kink[k]));
    for (int32_t p = 0; p <= layer.of.n_kinks; ++p)
        columns.steepest = larger(columns.steepest, magnitude(layer.of.slope[p]));
    columns.spectral = __builtin_inf();
    if (l == 0) return true;
    constexpr int64_t TILE = 16;
    for (int64_t i0 = 0; i0 < columns.units; i0 += TILE) {
        const int64_t i1 = i0 + TILE < columns.units ? i0 + TILE : columns.units;
        for (int64_t i = i0; i < i1; ++i) {
            const double* row = layer.of.W + i * columns.inputs;
            const RowSums sums = row_sums(row, columns.inputs);
            columns.row_sum = larger(columns.row_sum, sums.magnitudes);
            columns.row_norm = larger(columns.row_norm, __builtin_sqrt(sums.squares));
            for (int64_t j = 0; j < columns.inputs; ++j)
                columns.largest[j] = larger(magnitude(row[j]), columns.largest[j]);
        }
        for (int64_t j = 0; j < columns.inputs; ++j)
            for (int64_t i = i0; i < i1; ++i)
                columns.W[j * columns.stride + i] = layer.of.W[i * columns.inputs + j];
    }
    columns.row_sum *= 1 + double(columns.inputs) * 2 * U;
    columns.row_norm = columns.row_norm * UP + 1e-150;  // squares may underflow
    // Worth its time only where errors pass through many layers.
    if (n_layers_ >= 4 && columns.units <= 512 && columns.inputs <= 4096) {
        Stack<double> G;
        const int64_t size = columns.units * columns.stride;
        if (!G.room(size + PAD)) return false;
        const uintptr_t at = (reinterpret_cast<uintptr_t>(G.data()) + 63) / 64 * 64;
        columns.spectral = spectral_bound(columns, reinterpret_cast<double*>(at)) + 1e-70;
    }
    return true;
}

// z = (W axes) p + (W origin + b), with sums in any order.
template <int DIM>
bool Layers<DIM>::set_up_first_map() {
    Layer<DIM>& layer = layers_[0];
    AffineMap<DIM>& map = layer.map;
    const RegionDomain& domain = problem_.domain;
    const int64_t n = domain.d_in;
    Stack<double> reach;  // the largest coordinate of axes and origin along each input
    if (!reach.room(n)) return false;
    for (int64_t j = 0; j < n; ++j) {
        reach[j] = magnitude(domain.origin[j]);
        for (int d = 0; d < domain.d; ++d)
            reach[j] = larger(reach[j], magnitude(domain.axes[d * n + j]));
    }
    double largest_sum = 0, largest = 0, largest_c = 0;
    for (int64_t i = 0; i < layer.of.units; ++i) {
        const double* row = layer.of.W + i * n;
        const double sum = dot<true>(row, reach.data(), n);
        for (int d = 0; d < domain.d; ++d) {
            map.a[d][i] = dot<false>(row, domain.axes + d * n, n);
            largest = larger(largest, magnitude(map.a[d][i]));
        }
        map.c[i] = dot<false>(row, domain.origin, n) + layer.of.b[i];
        largest_sum = larger(largest_sum, sum + magnitude(layer.of.b[i]));
        largest_c = larger(largest_c, magnitude(map.c[i]));
    }
    map.largest_c = largest_c;
    map.largest = larger(largest, largest_c + layer.columns.kink_largest);
    map.err = double(2 * layer.of.inputs + 5) * U * largest_sum * UP + TINY;
    for (int d = 0; d < domain.d; ++d)
        reach_ += larger(magnitude(domain.low[d]), magnitude(domain.high[d]));
    if (!(largest_sum * reach_ < 1e300)) map.err = __builtin_inf();
    map.err2 = map.err * __builtin_sqrt(double(layer.of.units)) * UP;
    map.version = 1;
    return true;
}

PELLUCID_INLINE int piece(const RegionLayer& layer, const uint64_t* pattern, int64_t unit) {
    if (layer.n_kinks == 1) return bit(pattern, unit);
    if (layer.n_kinks == 0) return 0;
    return bit(pattern, 2 * unit) + bit(pattern, 2 * unit + 1);
}

// Composes layer l's map under the pattern of the layer before: by the units that flipped since it
// was last composed, where the layer before still has the same map; from the start otherwise.
template <int DIM>
void Layers<DIM>::update_map(int32_t l) {
    Layer<DIM>& layer = layers_[l];
    const Layer<DIM>& before = layers_[l - 1];
    AffineMap<DIM>& map = layer.map;
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
    Term<DIM>* terms = terms_.data();
    auto add = [&](int64_t j, double slope, double intercept) {
        if (slope == 0 && intercept == 0) return;
        const double c = slope * before.map.c[j];
        Term<DIM>& term = terms[n];
        term.column = j;
        term.c = c + intercept;
        double g = magnitude(c) + magnitude(intercept);
        for (int d = 0; d < DIM; ++d) {
            term.a[d] = slope * before.map.a[d][j];
            g = larger(g, magnitude(term.a[d]));
        }
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
               fresh, reach_);
    worked(n * layer.columns.stride >> 12);
    map.built_on = before.map.version;
    for (int64_t w = 0; w < n_words; ++w) map.pattern[w] = before.pattern[w];
}

// Many switches in an order without a pattern: where kinks are sorted, as in splines, cuts would lie
// within each other as deep as there are kinks. Steps of the golden ratio halve such rows.
inline void spread(int32_t* found, int64_t n) {
    if (n <= 256) return;
    int64_t step = int64_t(double(n) * 0.6180339887498949);
    auto common = [](int64_t a, int64_t b) {
        while (b) {
            const int64_t rest = a % b;
            a = b, b = rest;
        }
        return a;
    };
    while (common(n, step) != 1) ++step;
    int32_t* copy = found + n;
    for (int64_t i = 0; i < n; ++i) copy[i] = found[i];
    for (int64_t i = 0, at = 0; i < n; ++i, at = (at + step) % n) found[i] = copy[at];
}

// Writes the bits of layer l's switches that are proved to have one sign on the cell; puts the others
// into `found`, which has room for twice as many. range(i, lowest, topmost) gives z of the units from i
// on; slack is (3) at its largest.
template <int DIM>
template <class Range>
PELLUCID_INLINE int64_t Layers<DIM>::settle(int32_t l, double slack, int32_t* found, Range range) {
    Layer<DIM>& layer = layers_[l];
    const int kinks = layer.of.n_kinks;
    int32_t* first = found;
    for (int64_t w = 0; w < words(layer.switches); ++w) layer.pattern[w] = 0;
    const vd bound = all(slack);
    const int64_t units = layer.of.units;
    for (int64_t i = 0; i < units; i += D) {
        vd lowest, topmost;
        range(i, lowest, topmost);
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
    spread(first, found - first);
    return found - first;
}

// Appends the pattern of the current cell.
template <int DIM>
bool Layers<DIM>::write_pattern(RegionOutput& out) {
    const size_t r = size_t(out.regions), bytes = size_t(problem_.bytes);
    if (!out.patterns.reserve((r + 1) * bytes + 8 * size_t(words(problem_.switches) + 1)))
        return false;
    unsigned char* packed = static_cast<unsigned char*>(out.patterns.data) + r * bytes;
    int64_t bits = 0;  // deposited so far
    uint64_t carry = 0;
    for (int32_t l = 0; l < n_layers_; ++l) {
        const Layer<DIM>& layer = layers_[l];
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
    return true;
}

}  // namespace
}  // namespace pellucid::PELLUCID_ISA
