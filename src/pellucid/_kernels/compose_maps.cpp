// compose_maps, compiled once for each instruction set.
#include "compose_maps.hpp"

#include <cstdlib>
#include <cstring>

namespace pellucid::PELLUCID_ISA {

namespace {

constexpr int64_t LANES = 8;  // rows are padded to whole vectors of any instruction set
constexpr int MOST_UPDATES = 64;  // units that flip before a map is composed from the start again

struct ComposedLayer {
    const RegionLayer* of;
    int64_t units, stride, first;  // first: number of its first switch
    double* W;                     // inputs x stride, none in the first layer
    double* b;                     // stride
    double* z;                     // (d + 1) x stride
    double norm;
    int updates;                   // since z was composed from the start
};

class Composition {
public:
    explicit Composition(const ComposeProblem& problem) : p_(problem) {}
    ~Composition() {
        std::free(block_);
        std::free(layers_);
    }
    Composition(const Composition&) = delete;

    bool set_up();
    void run(double* maps, double* norms);

private:
    int32_t differs(int64_t region) const;
    void advance(int32_t l, const uint8_t* pattern);
    bool update(int32_t l, const uint8_t* before, const uint8_t* now);
    void add(int32_t l, const double* const* rows, const double* h, int n);
    bool pieces(const uint8_t* pattern);
    void output(const uint8_t* pattern, double* map);
    bool update_output(const uint8_t* before, const uint8_t* now, const double* last, double* map);
    void measure(ComposedLayer& layer);

    const ComposeProblem p_;
    ComposedLayer* layers_ = nullptr;
    double* block_ = nullptr;
    double* outer_ = nullptr;     // d_out x stride of the last layer: the output's weights
    double* factors_ = nullptr;   // slope and intercept of each unit of the last layer, stride each
    double* weighted_ = nullptr;  // stride
    int output_updates_ = 0;
};

inline bool is_set(const uint8_t* pattern, int64_t i) { return pattern[i >> 3] >> (i & 7) & 1; }

inline int piece(const ComposedLayer& layer, const uint8_t* pattern, int64_t unit) {
    const int kinks = layer.of->n_kinks;
    int found = 0;
    for (int k = 0; k < kinks; ++k) found += is_set(pattern, layer.first + unit * kinks + k);
    return found;
}

// Units of a layer whose piece differs between two patterns: at most `room`, or -1 for more.
int flipped_units(const ComposedLayer& layer, const uint8_t* before, const uint8_t* now, int room,
                  int32_t* units) {
    const int kinks = layer.of->n_kinks;
    const int64_t begin = layer.first, end = begin + layer.units * kinks;
    int n = 0;
    for (int64_t byte = begin >> 3; byte < (end + 7) >> 3; ++byte)
        for (unsigned x = unsigned(before[byte] ^ now[byte]); x; x &= x - 1) {
            const int64_t at = 8 * byte + __builtin_ctz(x);
            if (at < begin || at >= end) continue;
            const int32_t unit = int32_t((at - begin) / kinks);
            if (n > 0 && units[n - 1] == unit) continue;
            if (n == room) return -1;
            units[n++] = unit;
        }
    return n;
}

bool Composition::set_up() {
    layers_ = static_cast<ComposedLayer*>(std::calloc(size_t(p_.n_layers), sizeof(ComposedLayer)));
    if (!layers_) return false;
    const int64_t columns = p_.d + 1;
    int64_t doubles = 0, switches = 0;
    for (int32_t l = 0; l < p_.n_layers; ++l) {
        ComposedLayer& layer = layers_[l];
        layer.of = &p_.layers[l];
        layer.units = layer.of->units;
        layer.stride = (layer.units + LANES - 1) / LANES * LANES;
        layer.first = switches;
        switches += layer.of->switches();
        doubles += layer.stride * (columns + 1 + (l == 0 ? 0 : layer.of->inputs));
    }
    const ComposedLayer& last = layers_[p_.n_layers - 1];
    doubles += (p_.d_out + 3) * last.stride;
    const size_t bytes = (size_t(doubles) * sizeof(double) + 63) / 64 * 64;
    block_ = static_cast<double*>(std::aligned_alloc(64, bytes));
    if (!block_) return false;
    std::memset(block_, 0, bytes);
    double* next = block_;
    for (int32_t l = 0; l < p_.n_layers; ++l) {
        ComposedLayer& layer = layers_[l];
        layer.z = next, next += columns * layer.stride;
        layer.b = next, next += layer.stride;
        std::memcpy(layer.b, layer.of->b, size_t(layer.units) * sizeof(double));
        if (l == 0) continue;
        layer.W = next, next += layer.stride * layer.of->inputs;
        for (int64_t i = 0; i < layer.units; ++i)
            for (int64_t j = 0; j < layer.of->inputs; ++j)
                layer.W[j * layer.stride + i] = layer.of->W[i * layer.of->inputs + j];
    }
    outer_ = next, next += p_.d_out * last.stride;
    factors_ = next, next += 2 * last.stride;
    weighted_ = next;
    for (int64_t k = 0; k < p_.d_out; ++k)
        std::memcpy(outer_ + k * last.stride, p_.output_weight + k * last.units,
                    size_t(last.units) * sizeof(double));
    for (int64_t c = 0; c < columns; ++c)
        std::memcpy(layers_[0].z + c * layers_[0].stride, p_.first_map + c * layers_[0].units,
                    size_t(layers_[0].units) * sizeof(double));
    measure(layers_[0]);
    return true;
}

// The layer of the first switch in which a region differs from the one before.
int32_t Composition::differs(int64_t region) const {
    if (region == 0) return -1;
    const uint8_t *now = p_.patterns + region * p_.bytes, *before = now - p_.bytes;
    int64_t i = 0;
    while (i + 8 <= p_.bytes && std::memcmp(now + i, before + i, 8) == 0) i += 8;
    while (i < p_.bytes && now[i] == before[i]) ++i;
    if (i == p_.bytes) return p_.n_layers;
    const int64_t at = 8 * i + __builtin_ctz(unsigned(now[i] ^ before[i]));
    int32_t l = p_.n_layers - 1;
    while (layers_[l].first > at) --l;
    return l;
}

// z += sum of W's column i times h_i, for up to four units of the layer before.
void Composition::add(int32_t l, const double* const* rows, const double* h, int n) {
    ComposedLayer& layer = layers_[l];
    const int64_t stride = layer.stride, columns = p_.d + 1;
    for (int64_t c = 0; c < columns; ++c) {
        double* __restrict z = layer.z + c * stride;
        const double *h0 = h + c, *h1 = h0 + columns, *h2 = h1 + columns, *h3 = h2 + columns;
        if (n == 4) {
            const double a0 = *h0, a1 = *h1, a2 = *h2, a3 = *h3;
            const double *w0 = rows[0], *w1 = rows[1], *w2 = rows[2], *w3 = rows[3];
            for (int64_t i = 0; i < stride; ++i)
                z[i] += (w0[i] * a0 + w1[i] * a1) + (w2[i] * a2 + w3[i] * a3);
        } else {
            for (int k = 0; k < n; ++k) {
                const double a = h0[k * columns];
                const double* w = rows[k];
                for (int64_t i = 0; i < stride; ++i) z[i] += w[i] * a;
            }
        }
    }
}

// z of layer l from the layer before, under the pattern.
void Composition::advance(int32_t l, const uint8_t* pattern) {
    ComposedLayer& layer = layers_[l];
    const ComposedLayer& before = layers_[l - 1];
    const int64_t columns = p_.d + 1;
    layer.updates = 0;
    std::memset(layer.z, 0, size_t(p_.d * layer.stride) * sizeof(double));
    std::memcpy(layer.z + p_.d * layer.stride, layer.b, size_t(layer.stride) * sizeof(double));
    double h[4 * 32];
    const double* rows[4];
    const int room = columns <= 32 ? 4 : 0;
    int n = 0;
    for (int64_t j = 0; j < before.units; ++j) {
        const int at = piece(before, pattern, j);
        const double slope = before.of->slope[at], intercept = before.of->intercept[at];
        if (slope == 0 && intercept == 0) continue;
        const double* w = layer.W + j * layer.stride;
        if (room == 0) {  // many coordinates
            for (int64_t c = 0; c < columns; ++c) {
                const double a =
                    slope * before.z[c * before.stride + j] + (c == p_.d ? intercept : 0);
                double* __restrict z = layer.z + c * layer.stride;
                for (int64_t i = 0; i < layer.stride; ++i) z[i] += w[i] * a;
            }
            continue;
        }
        for (int64_t c = 0; c < columns; ++c)
            h[n * columns + c] = slope * before.z[c * before.stride + j];
        h[n * columns + p_.d] += intercept;
        rows[n++] = w;
        if (n == 4) add(l, rows, h, 4), n = 0;
    }
    if (n > 0) add(l, rows, h, n);
}

// z of layer l where the layer before has the same z as for the last region, and few units flipped.
bool Composition::update(int32_t l, const uint8_t* pattern_before, const uint8_t* now) {
    ComposedLayer& layer = layers_[l];
    const ComposedLayer& before = layers_[l - 1];
    int32_t units[MOST_UPDATES];
    const int n = flipped_units(before, pattern_before, now, MOST_UPDATES - layer.updates, units);
    if (n < 0) return false;
    layer.updates += n;
    for (int k = 0; k < n; ++k) {
        const int64_t j = units[k];
        const int p = piece(before, pattern_before, j), q = piece(before, now, j);
        const double slope = before.of->slope[q] - before.of->slope[p];
        const double intercept = before.of->intercept[q] - before.of->intercept[p];
        const double* w = layer.W + j * layer.stride;
        for (int64_t c = 0; c <= p_.d; ++c) {
            const double a = slope * before.z[c * before.stride + j] + (c == p_.d ? intercept : 0);
            double* __restrict z = layer.z + c * layer.stride;
            for (int64_t i = 0; i < layer.stride; ++i) z[i] += w[i] * a;
        }
    }
    return true;
}

// The inner product of two vectors of whole lanes.
inline double dot(const double* x, const double* y, int64_t n) {
    double sums[LANES] = {};
    for (int64_t i = 0; i < n; i += LANES)
        for (int64_t lane = 0; lane < LANES; ++lane) sums[lane] += x[i + lane] * y[i + lane];
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

// The same where an inactive unit's infinity made it no number.
inline double dot_of_active(const double* weights, const double* z, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i)
        if (weights[i] != 0) sum += weights[i] * z[i];
    return sum;
}

void Composition::measure(ComposedLayer& layer) {
    double largest = 0;
    for (int64_t c = 0; c <= p_.d; ++c) {
        const double* column = layer.z + c * layer.stride;
        const double sum = dot(column, column, layer.stride);
        largest = sum > largest || sum != sum ? sum : largest;
    }
    layer.norm = __builtin_sqrt(largest);
}

// Slope and intercept of every unit of the last layer; true where an intercept is not 0.
bool Composition::pieces(const uint8_t* pattern) {
    const ComposedLayer& last = layers_[p_.n_layers - 1];
    const RegionLayer& of = *last.of;
    double *slopes = factors_, *intercepts = factors_ + last.stride;
    if (of.n_kinks == 1 && of.intercept[0] == 0 && of.intercept[1] == 0) {
        for (int64_t j = 0; j < last.stride; j += LANES) {  // bits after the last unit meet weights 0
            const int64_t bit = last.first + j, at = bit >> 3;
            unsigned bits = at < p_.bytes ? pattern[at] : 0;
            if (at + 1 < p_.bytes) bits |= unsigned(pattern[at + 1]) << 8;
            bits >>= bit & 7;
            for (int64_t lane = 0; lane < LANES; ++lane)
                slopes[j + lane] = bits >> lane & 1 ? of.slope[1] : of.slope[0];
        }
        return false;
    }
    bool shifted = false;
    for (int64_t j = 0; j < last.units; ++j) {
        const int at = piece(last, pattern, j);
        slopes[j] = of.slope[at];
        intercepts[j] = of.intercept[at];
        shifted |= intercepts[j] != 0;
    }
    return shifted;
}

void Composition::output(const uint8_t* pattern, double* map) {
    const ComposedLayer& last = layers_[p_.n_layers - 1];
    const int64_t columns = p_.d + 1, stride = last.stride;
    const double *slopes = factors_, *intercepts = factors_ + stride;
    const bool shifted = pieces(pattern);
    output_updates_ = 0;
    for (int64_t k = 0; k < p_.d_out; ++k) {
        const double* w = outer_ + k * stride;
        for (int64_t j = 0; j < stride; ++j) weighted_[j] = w[j] * slopes[j];
        double* to = map + k * columns;
        for (int64_t c = 0; c < columns; ++c) {
            const double* z = last.z + c * stride;
            to[c] = dot(weighted_, z, stride);
            if (to[c] != to[c]) to[c] = dot_of_active(weighted_, z, stride);
        }
        if (shifted) to[p_.d] += dot(w, intercepts, stride);
        to[p_.d] += p_.output_bias[k];
    }
}

// The output's map from that of the last region, where only a few units of the last layer flipped.
bool Composition::update_output(const uint8_t* before, const uint8_t* now, const double* from,
                                double* map) {
    const ComposedLayer& last = layers_[p_.n_layers - 1];
    const int64_t columns = p_.d + 1, size = p_.d_out * columns;
    int32_t units[MOST_UPDATES];
    const int n = flipped_units(last, before, now, MOST_UPDATES - output_updates_, units);
    if (n < 0) return false;
    output_updates_ += n;
    std::memcpy(map, from, size_t(size) * sizeof(double));
    for (int k = 0; k < n; ++k) {
        const int64_t j = units[k];
        const int p = piece(last, before, j), q = piece(last, now, j);
        const double slope = last.of->slope[q] - last.of->slope[p];
        const double intercept = last.of->intercept[q] - last.of->intercept[p];
        for (int64_t o = 0; o < p_.d_out; ++o) {
            const double w = outer_[o * last.stride + j];
            double* to = map + o * columns;
            for (int64_t c = 0; c < columns; ++c) to[c] += slope * (w * last.z[c * last.stride + j]);
            to[p_.d] += intercept * w;
        }
    }
    return true;
}

void Composition::run(double* maps, double* norms) {
    const int64_t size = p_.d_out * (p_.d + 1);
    for (int64_t r = 0; r < p_.n; ++r) {
        const uint8_t *now = p_.patterns + r * p_.bytes, *before = now - p_.bytes;
        const int32_t changed = differs(r);
        for (int32_t l = changed + 1 > 1 ? changed + 1 : 1; l < p_.n_layers; ++l) {
            if (l != changed + 1 || r == 0 || !update(l, before, now)) advance(l, now);
            measure(layers_[l]);
        }
        double* map = maps + r * size;
        if (changed < p_.n_layers - 1 || !update_output(before, now, map - size, map))
            output(now, map);
        for (int32_t l = 0; l < p_.n_layers; ++l) norms[r * p_.n_layers + l] = layers_[l].norm;
    }
}

bool compose(const ComposeProblem& problem, double* maps, double* norms) {
    Composition composition(problem);
    if (!composition.set_up()) return false;
    composition.run(maps, norms);
    return true;
}

}  // namespace

extern const ComposeKernel compose_kernel;
const ComposeKernel compose_kernel{PELLUCID_ISA_NAME, &compose};

}  // namespace pellucid::PELLUCID_ISA
