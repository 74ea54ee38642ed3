#include "draws.hpp"

#include <cmath>

#include "ziggurat.hpp"

namespace pellucid {

namespace {

class Mt19937 {
public:
    explicit Mt19937(uint32_t seed) {
        state_[0] = seed;
        for (uint32_t i = 1; i < N; ++i)
            state_[i] = 1812433253u * (state_[i - 1] ^ (state_[i - 1] >> 30)) + i;
    }

    uint32_t next() {
        if (at_ == N) refill();
        uint32_t y = state_[at_++];
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c5680u;
        y ^= (y << 15) & 0xefc60000u;
        return y ^ (y >> 18);
    }

private:
    static constexpr uint32_t N = 624, M = 397;

    void refill() {
        for (uint32_t k = 0; k < N; ++k) {
            const uint32_t y = (state_[k] & 0x80000000u) | (state_[(k + 1) % N] & 0x7fffffffu);
            state_[k] = state_[(k + M) % N] ^ (y >> 1) ^ (y & 1 ? 0x9908b0dfu : 0u);
        }
        at_ = 0;
    }

    uint32_t state_[N];
    uint32_t at_ = N;
};

// NumPy's SeedSequence for one whole number: 8 words of 32 bits.
class SeedWords {
public:
    explicit SeedWords(uint64_t seed) {
        const uint32_t entropy[4] = {uint32_t(seed), uint32_t(seed >> 32), 0, 0};
        uint32_t constant = 0x43b0d7e5u;
        const auto hash = [&](uint32_t value) {
            value ^= constant;
            constant *= 0x931e8875u;
            value *= constant;
            return value ^ (value >> 16);
        };
        for (int i = 0; i < 4; ++i) pool_[i] = hash(entropy[i]);
        for (int from = 0; from < 4; ++from)
            for (int to = 0; to < 4; ++to)
                if (from != to) pool_[to] = mix(pool_[to], hash(pool_[from]));
    }

    void words(uint32_t* out, int n) const {
        uint32_t constant = 0x8b51f9ddu;
        for (int i = 0; i < n; ++i) {
            uint32_t value = pool_[i % 4] ^ constant;
            constant *= 0x58f38dedu;
            value *= constant;
            out[i] = value ^ (value >> 16);
        }
    }

private:
    static uint32_t mix(uint32_t x, uint32_t y) {
        const uint32_t mixed = 0xca01f9ddu * x - 0x4973f715u * y;
        return mixed ^ (mixed >> 16);
    }

    uint32_t pool_[4];
};

// NumPy's default generator.
class Pcg64 {
public:
    explicit Pcg64(uint64_t seed) {
        uint32_t w[8];
        SeedWords(seed).words(w, 8);
        const auto wide = [&](int i) {
            const uint64_t high = w[i] | uint64_t(w[i + 1]) << 32;
            const uint64_t low = w[i + 2] | uint64_t(w[i + 3]) << 32;
            return Wide(high) << 64 | low;
        };
        increment_ = wide(4) << 1 | 1;
        step();
        state_ += wide(0);
        step();
    }

    uint64_t next() {
        step();
        const uint64_t folded = uint64_t(state_ >> 64) ^ uint64_t(state_);
        const int rotation = int(state_ >> 122);
        return folded >> rotation | folded << (-rotation & 63);
    }

    double uniform() { return double(next() >> 11) * 0x1p-53; }

    double normal() {
        for (;;) {
            const uint64_t bits = next();
            const int strip = int(bits & 0xff);
            const uint64_t size = bits >> 9 & 0xfffffffffffff;
            double x = double(size) * ziggurat_width[strip];
            if (bits >> 8 & 1) x = -x;
            if (size < ziggurat_inside[strip]) return x;
            if (strip == 0) return tail(size >> 8 & 1);
            const double rise = ziggurat_height[strip - 1] - ziggurat_height[strip];
            if (rise * uniform() + ziggurat_height[strip] < std::exp(-0.5 * x * x)) return x;
        }
    }

private:
    using Wide = unsigned __int128;

    double tail(bool negative) {
        for (;;) {
            const double x = -ziggurat_inverse_end * std::log1p(-uniform());
            const double y = -std::log1p(-uniform());
            if (y + y > x * x) return negative ? -(ziggurat_end + x) : ziggurat_end + x;
        }
    }

    void step() {
        constexpr Wide factor = Wide(0x2360ed051fc65da4) << 64 | 0x4385df649fccf645;
        state_ = state_ * factor + increment_;
    }

    Wide state_ = 0, increment_;
};

// u has 24 bits and the bound 24, so that the product is exact in double: one rounding.
void uniform_as_torch(Mt19937& stream, double bound, int64_t n, float* out) {
    const double b = double(float(bound));
    for (int64_t i = 0; i < n; ++i)
        out[i] = float(b * (2 * (double(stream.next() & 0xffffff) * 0x1p-24) - 1));
}

void draw_as_torch(const int32_t* widths, int n_layers, uint64_t seed, float* parameters) {
    Mt19937 stream{uint32_t(seed)};
    for (int l = 0; l < n_layers; ++l) {
        const double root = std::sqrt(double(widths[l])), five = std::sqrt(5.0);
        const double gain = std::sqrt(2 / (1 + five * five));
        const int64_t weights = int64_t(widths[l]) * widths[l + 1];
        uniform_as_torch(stream, std::sqrt(3.0) * (gain / root), weights, parameters);
        uniform_as_torch(stream, 1 / root, widths[l + 1], parameters + weights);
        parameters += weights + widths[l + 1];
    }
}

double variance(Scheme scheme, double fan_in, double fan_out) {
    switch (scheme) {
        case Scheme::he_normal:
        case Scheme::he_uniform: return 2 / fan_in;
        case Scheme::glorot_normal:
        case Scheme::glorot_uniform: return 2 / (fan_in + fan_out);
        default: return 1 / fan_in;
    }
}

}  // namespace

void draw_parameters(Scheme scheme, const int32_t* widths, int n_layers, uint64_t seed,
                     float* parameters) {
    if (scheme == Scheme::torch) return draw_as_torch(widths, n_layers, seed, parameters);
    const bool normal = scheme == Scheme::he_normal || scheme == Scheme::glorot_normal ||
                        scheme == Scheme::lecun_normal;
    Pcg64 stream(seed);
    for (int l = 0; l < n_layers; ++l) {
        const double s = std::sqrt(variance(scheme, widths[l], widths[l + 1]));
        const double high = std::sqrt(3.0) * s, low = -high;
        const int64_t weights = int64_t(widths[l]) * widths[l + 1];
        for (int64_t i = 0; i < weights; ++i)
            parameters[i] = float(normal ? 0 + s * stream.normal() : low + (high - low) * stream.uniform());
        for (int64_t i = 0; i < widths[l + 1]; ++i) parameters[weights + i] = 0;
        parameters += weights + widths[l + 1];
    }
}

}  // namespace pellucid
