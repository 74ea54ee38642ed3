// One network's layers and their place in the workspace, and the passes over one tile.
#pragma once

#include "job.hpp"
#include "activations.hpp"
#include "arena.hpp"
#include "dropout.hpp"
#include "gradients.hpp"
#include "losses.hpp"
#include "products.hpp"

namespace pellucid::PELLUCID_ISA {

constexpr int64_t padded(int64_t n) { return (n + L - 1) / L * L; }
constexpr int largest_tile = 4 * L;

struct Layer {
    int n_in, n_out;
    bool wide;              // how its weight gradient is computed
    bool last;
    HiddenLayer activation; // identity for the last layer
    Epilogue derivative;    // how the layer above multiplies by this one's derivative
    int64_t offset;         // of W in the flat parameters; b follows
    real* h;               // tile [n_out][R]: hidden representation or outputs, then delta
    real* slope;           // tile: derivative, for smooth activations
    real* lanes;           // accumulators: of W and b, or of b alone (wide)
};

struct Network {
    Layer* layers;
    int n_layers;
    Likelihood likelihood;
    Softening softening;
    int64_t n_parameters;
    real *parameters, *gradient;  // padded to a multiple of L
    real* transposed;             // tile of the widest input of a wide layer
    real* lanes;                  // all accumulators, n_lanes vectors
    int64_t n_lanes;
    int largest_vb;                // vectors in a row of its largest tile
};

// Cycles, roughly: both ways do VB multiply-adds for each weight and tile. Lanes load and store
// each accumulator and add it up once a step (2.5 a weight); wide transposes each input (about
// 5 a vector) and needs at least one full vector of inputs.
inline bool wide_is_cheaper(int n_in, int n_out, int64_t tiles) {
    if (n_in < L) return false;
    const double weights = double(n_in) * n_out, padding = double(padded(n_in)) / n_in;
    const double first_cache = weights * L * sizeof(real) < 32768 ? 1.0 : 3.0;
    const double by_lanes = tiles * weights * (2 + first_cache) + 2.5 * weights;
    const double by_wide = tiles * (weights * padding * 2.2 + n_in * 20.0);
    return by_wide < by_lanes;
}

inline Epilogue derivative_of(Activation a) {
    if (a == Activation::identity) return Epilogue::store;
    return a == Activation::relu ? Epilogue::relu_mask : Epilogue::multiply;
}

inline Layer plan_layer(const Job& job, int l, int64_t offset, int64_t tiles, Arena& arena) {
    Layer layer{};
    layer.n_in = job.widths[l];
    layer.n_out = job.widths[l + 1];
    layer.last = l == job.n_layers - 1;
    layer.wide = wide_is_cheaper(layer.n_in, layer.n_out, tiles);
    layer.activation =
        layer.last ? HiddenLayer{Activation::identity, 0, 0} : job.hidden[l];
    // Dropout is a factor of the derivative too, which then needs a tile of its own.
    const bool dropped = job.dropout > 0 && !layer.last;
    layer.derivative = dropped ? Epilogue::multiply : derivative_of(layer.activation.activation);
    layer.offset = offset;
    const int64_t tile = int64_t(layer.n_out) * largest_tile;
    layer.h = arena.take<real>(tile);
    if (layer.derivative == Epilogue::multiply) layer.slope = arena.take<real>(tile);
    return layer;
}

// Tiles of 4 vectors; of 2 where the widest layer's tile would not fit the first cache. The rule
// counts numbers, not bytes: in double, fewer rows a tile cost more (measured: 13 % at 256 units).
inline int choose_vb(const Job& job, int64_t batch) {
    int widest = 0;
    for (int l = 0; l <= job.n_layers; ++l)
        if (job.widths[l] > widest) widest = job.widths[l];
    if (batch <= L) return 1;
    if (batch <= 2 * L) return 2;
    return int64_t(widest) * L * 16 > 32768 ? 2 : 4;
}

inline Network plan_network(const Job& job, int64_t batch, Arena& arena) {
    Network net{};
    net.n_layers = job.n_layers;
    net.likelihood = job.likelihood;
    net.softening = {job.class_weights, real(job.label_smoothing),
                     !job.class_weights && job.label_smoothing == 0};
    net.largest_vb = choose_vb(job, batch);
    const int64_t tiles = (batch + net.largest_vb * L - 1) / (net.largest_vb * L);
    net.layers = arena.take<Layer>(job.n_layers);
    int64_t offset = 0, n_lanes = 0, widest_transposed = 0;
    for (int l = 0; l < job.n_layers; ++l) {
        Layer layer = plan_layer(job, l, offset, tiles, arena);
        const int64_t weights = int64_t(layer.n_in) * layer.n_out;
        offset += weights + layer.n_out;
        n_lanes += (layer.wide ? 0 : weights) + layer.n_out;
        if (layer.wide && layer.n_in > widest_transposed) widest_transposed = layer.n_in;
        if (net.layers) net.layers[l] = layer;
    }
    net.n_parameters = offset;
    net.parameters = arena.take<real>(padded(offset));
    net.gradient = arena.take<real>(padded(offset));
    net.transposed = arena.take<real>(padded(widest_transposed) * largest_tile);
    net.n_lanes = n_lanes;
    net.lanes = arena.take<real>(n_lanes * L);
    if (arena.base) {
        real* lanes = net.lanes;
        for (int l = 0; l < job.n_layers; ++l) {
            Layer& layer = net.layers[l];
            layer.lanes = lanes;
            lanes += (layer.wide ? 0 : int64_t(layer.n_in) * layer.n_out * L) + layer.n_out * L;
        }
    }
    return net;
}

// dropout: null where the whole network is evaluated; first: the tile's first row in the batch.
template <int VB>
void forward_pass(const Network& net, const real* x, const Dropout* dropout = nullptr,
                  int64_t first = 0) {
    for (int l = 0; l < net.n_layers; ++l) {
        const Layer& layer = net.layers[l];
        const real* W = net.parameters + layer.offset;
        const real* b = W + int64_t(layer.n_in) * layer.n_out;
        const bool relu = layer.derivative == Epilogue::relu_mask;
        forward<VB>(W, b, x, layer.h, layer.n_in, layer.n_out, relu);
        if (layer.derivative == Epilogue::multiply) {
            activate(layer.activation, layer.h, layer.h, layer.slope,
                     int64_t(layer.n_out) * VB * L);
            if (dropout) drop<VB>(*dropout, l, first, layer.n_out, layer.h, layer.slope);
        }
        x = layer.h;
    }
}

// Adds this tile's part of the gradient. On entry the last layer's tile holds its delta; on the
// way down each delta overwrites the hidden representation that it belongs to, which nobody needs
// any more: half the memory, and a network of 64 units stays in the first cache.
template <int VB>
void backward_pass(const Network& net, const real* x) {
    for (int l = net.n_layers - 1; l >= 0; --l) {
        const Layer& layer = net.layers[l];
        const real *delta = layer.h, *h = l ? net.layers[l - 1].h : x;
        if (layer.wide) {
            transpose_tile<VB>(h, net.transposed, layer.n_in);
            WideGradient<VB>::run(delta, net.transposed, net.gradient + layer.offset, layer.n_in,
                                  layer.n_out);
            bias_lanes<VB>(delta, layer.lanes, layer.n_out);
        } else {
            LaneGradient<VB>::run(delta, h, layer.lanes, layer.n_in, layer.n_out);
        }
        if (l == 0) return;
        const Layer& below = net.layers[l - 1];
        const real* factor = below.derivative == Epilogue::relu_mask ? below.h : below.slope;
        backward<VB>(net.parameters + layer.offset, delta, below.h, layer.n_in, layer.n_out,
                     below.derivative, factor);
    }
}

inline void clear_gradient(const Network& net) {
    for (int l = 0; l < net.n_layers; ++l) {
        const Layer& layer = net.layers[l];
        if (layer.wide)
            __builtin_memset(net.gradient + layer.offset, 0,
                             sizeof(real) * size_t(layer.n_in) * size_t(layer.n_out));
    }
}

// Accumulators -> gradient, one run of neighbouring layers without wide weights at a time.
inline void collect_gradient(const Network& net) {
    int l = 0;
    while (l < net.n_layers) {
        const Layer& first = net.layers[l];
        const int64_t weights = int64_t(first.n_in) * first.n_out;
        const int64_t start = first.offset + (first.wide ? weights : 0);
        int64_t end = first.offset + weights + first.n_out;
        for (++l; l < net.n_layers && !net.layers[l].wide; ++l)
            end = net.layers[l].offset +
                  (int64_t(net.layers[l].n_in) + 1) * net.layers[l].n_out;
        add_up_lanes(first.lanes, net.gradient + start, end - start);
    }
}

}  // namespace pellucid::PELLUCID_ISA
