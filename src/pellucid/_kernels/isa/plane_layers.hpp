// Layers of a subdivision: their weights by column, and their affine maps on the current cell.
#pragma once

#include <cstdlib>
#include <cstring>

#include "plane.hpp"

namespace pellucid::PELLUCID_ISA {
namespace {

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

}  // namespace
}  // namespace pellucid::PELLUCID_ISA
