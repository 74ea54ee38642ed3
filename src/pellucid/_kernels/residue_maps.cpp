#include "residue_maps.hpp"

#include <algorithm>
#include <cmath>

namespace pellucid {

namespace {

constexpr uint32_t PRIME = 0x7fffffff;

// Below 2^33 for any product of two residues.
uint64_t folded(uint64_t x) { return (x & PRIME) + (x >> 31); }

uint32_t reduced(uint64_t x) {
    x = folded(folded(x));
    return uint32_t(x >= PRIME ? x - PRIME : x);
}

// 2^31 is 1, so that powers of two are rotations.
uint32_t residue(double value) {
    if (value == 0) return 0;
    int exponent;
    const double fraction = std::frexp(std::fabs(value), &exponent);
    const uint32_t mantissa = reduced(uint64_t(std::ldexp(fraction, 53)));
    const int turn = ((exponent - 53) % 31 + 31) % 31;
    const uint32_t size = reduced(uint64_t(mantissa) << turn);
    return value > 0 || size == 0 ? size : PRIME - size;
}

std::vector<uint32_t> residues(const double* values, int64_t n) {
    std::vector<uint32_t> found(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) found[size_t(i)] = residue(values[i]);
    return found;
}

}  // namespace

uint32_t ResidueMaps::times(uint32_t a, uint32_t b) { return reduced(uint64_t(a) * b); }
uint32_t ResidueMaps::minus(uint32_t a, uint32_t b) { return a >= b ? a - b : a + PRIME - b; }

ResidueMaps::ResidueMaps(const RegionLayer* layers, int32_t n_layers, const RegionDomain& domain)
    : columns_(domain.d + 1) {
    for (int32_t l = 0; l < n_layers; ++l) {
        const RegionLayer& of = layers[l];
        Layer layer{&of, n_switches_, {}, {}, residues(of.b, of.units),
                    residues(of.kink, of.n_kinks), residues(of.slope, of.n_kinks + 1),
                    residues(of.intercept, of.n_kinks + 1)};
        n_switches_ += of.switches();
        layer.W.resize(size_t(of.inputs) * size_t(of.units));
        for (int64_t i = 0; i < of.units; ++i)
            for (int64_t j = 0; j < of.inputs; ++j)
                layer.W[size_t(j * of.units + i)] = residue(of.W[i * of.inputs + j]);
        layer.z.resize(size_t(of.units) * size_t(columns_));
        layers_.push_back(std::move(layer));
    }
    Layer& first = layers_[0];
    const auto axes = residues(domain.axes, int64_t(domain.d) * domain.d_in);
    const auto rest = domain.rest ? residues(domain.rest, int64_t(domain.d) * domain.d_in) : std::vector<uint32_t>();
    const auto origin = residues(domain.origin, domain.d_in);
    for (int64_t i = 0; i < first.of->units; ++i)
        for (int c = 0; c < columns_; ++c) {
            uint64_t sum = c == domain.d ? first.b[size_t(i)] : 0;
            for (int64_t j = 0; j < domain.d_in; ++j) {
                const size_t at = size_t(int64_t(c) * domain.d_in + j);
                const uint64_t x = c == domain.d ? origin[size_t(j)]
                                   : reduced(uint64_t(axes[at]) + (rest.empty() ? 0 : rest[at]));
                sum += folded(first.W[size_t(j * first.of->units + i)] * x);
            }
            first.z[size_t(c * first.of->units + i)] = reduced(sum);
        }
}

int ResidueMaps::piece(const Layer& layer, const uint8_t* pattern, int64_t unit) {
    int found = 0;
    const int kinks = layer.of->n_kinks;
    for (int k = 0; k < kinks; ++k) found += bit_of(pattern, layer.first + unit * kinks + k);
    return found;
}

// sums += W's column of the unit, times slope z + intercept.
void ResidueMaps::add(Layer& to, const Layer& from, int64_t unit, uint32_t slope, uint32_t intercept) {
    const int64_t units = to.of->units;
    const uint32_t* __restrict W = to.W.data() + unit * units;
    for (int c = 0; c < columns_; ++c) {
        uint64_t h = uint64_t(slope) * from.z[size_t(int64_t(c) * from.of->units + unit)];
        if (c + 1 == columns_) h += intercept;
        const uint32_t x = reduced(h);
        uint64_t* __restrict sum = sums_.data() + c * units;
        for (int64_t i = 0; i < units; ++i) {
            const uint64_t product = uint64_t(W[i]) * x;
            sum[i] += (product & PRIME) + (product >> 31);
        }
    }
}

// z of layer l from the layer before, from the start.
void ResidueMaps::fresh(int32_t l, const uint8_t* pattern) {
    Layer& layer = layers_[size_t(l)];
    const Layer& before = layers_[size_t(l) - 1];
    const size_t units = size_t(layer.of->units), constants = units * size_t(columns_ - 1);
    sums_.assign(layer.z.size(), 0);
    for (size_t i = 0; i < units; ++i) sums_[constants + i] = layer.b[i];
    for (int64_t j = 0; j < before.of->units; ++j) {
        const size_t p = size_t(piece(before, pattern, j));
        if (before.slope[p] != 0 || before.intercept[p] != 0)
            add(layer, before, j, before.slope[p], before.intercept[p]);
    }
    for (size_t i = 0; i < layer.z.size(); ++i) layer.z[i] = reduced(sums_[i]);
}

// The same where the layer before has the z of the last pattern: by the units that flipped.
void ResidueMaps::update(int32_t l, const uint8_t* pattern_before, const uint8_t* now) {
    Layer& layer = layers_[size_t(l)];
    const Layer& before = layers_[size_t(l) - 1];
    const int kinks = before.of->n_kinks;
    const int64_t begin = before.first, end = begin + before.of->switches();
    sums_.assign(layer.z.begin(), layer.z.end());
    int64_t previous = -1;
    for (int64_t byte = begin >> 3; byte < (end + 7) >> 3; ++byte)
        for (unsigned x = unsigned(pattern_before[byte] ^ now[byte]); x; x &= x - 1) {
            const int64_t at = 8 * byte + __builtin_ctz(x), unit = (at - begin) / kinks;
            if (at < begin || at >= end || unit == previous) continue;
            previous = unit;  // both switches of one unit
            const size_t p = size_t(piece(before, pattern_before, unit));
            const size_t q = size_t(piece(before, now, unit));
            add(layer, before, unit, minus(before.slope[q], before.slope[p]),
                minus(before.intercept[q], before.intercept[p]));
        }
    for (size_t i = 0; i < layer.z.size(); ++i) layer.z[i] = reduced(sums_[i]);
}

void ResidueMaps::follow(const uint8_t* pattern, int64_t bytes) {
    const bool begin = last_.empty();
    int32_t changed = -1;
    if (!begin) {
        const auto differs = std::mismatch(last_.begin(), last_.begin() + long(bytes), pattern);
        if (differs.first == last_.begin() + long(bytes)) return;
        const int64_t at = 8 * (differs.second - pattern) +
                           __builtin_ctz(unsigned(*differs.first ^ *differs.second));
        changed = layer_of(at);
        update(changed + 1, last_.data(), pattern);
        ++changed;
    }
    for (int32_t l = std::max(changed + 1, 1); l < int32_t(layers_.size()); ++l) fresh(l, pattern);
    last_.assign(pattern, pattern + bytes);
    if (last_.empty()) last_.push_back(0);
}

int32_t ResidueMaps::layer_of(int64_t number) const {
    int32_t l = int32_t(layers_.size()) - 1;
    while (layers_[size_t(l)].first > number || layers_[size_t(l)].of->n_kinks == 0) --l;
    return l;
}

void ResidueMaps::switch_row(int64_t number, uint32_t* row) const {
    const Layer& layer = layers_[size_t(layer_of(number))];
    const int64_t kinks = layer.of->n_kinks, unit = (number - layer.first) / kinks;
    for (int64_t c = 0; c < columns_; ++c) row[c] = layer.z[size_t(c * layer.of->units + unit)];
    const size_t kink = size_t((number - layer.first) % kinks);
    row[columns_ - 1] = minus(row[columns_ - 1], layer.kink[kink]);
}

}  // namespace pellucid
