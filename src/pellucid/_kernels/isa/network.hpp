// One network's layers and their place in the workspace, and the passes over one tile.
#pragma once

#include "job.hpp"
#include "activations.hpp"
#include "arena.hpp"
#include "dropout.hpp"
#include "gradients.hpp"
#include "heads.hpp"
#include "panels.hpp"

namespace pellucid::PELLUCID_ISA {

constexpr int64_t padded(int64_t n) { return (n + L - 1) / L * L; }
constexpr int largest_tile = 4 * L;

struct Layer {
    int n_in, n_out;
    bool wide;              // how its weight gradient is computed
    bool last;
    bool blocked;           // weights in panels, which several tiles share
    HiddenLayer activation; // identity for the last layer
    Epilogue derivative;    // how the layer above multiplies by this one's derivative
    int64_t offset;         // of W in the flat parameters; b follows
    real* h;               // tiles [n_out][R]: hidden representation or outputs, then delta
    real* slope;           // tiles: derivative, for smooth activations
    real* lanes;           // accumulators: of W and b, or of b alone (wide)
};

struct Network {
    Layer* layers;
    int n_layers;
    Likelihood likelihood;
    Softening softening;
    Head head;
    int64_t n_parameters;
    real *parameters, *gradient;  // padded to a multiple of L
    real* transposed;             // inputs of a wide layer
    real *packed, *partial;       // panels of a blocked layer, and sums over some of its inputs
    real* lanes;                  // all accumulators, n_lanes vectors
    int64_t n_lanes;
    int largest_vb;                // vectors in a row of its largest tile
    int group;                     // tiles that go through the network together
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

// Whether several tiles should share panels of the weights. With 256 x 256 weights in float32 that
// is 4 % slower than each tile for itself, with 384 x 384 as fast, with 512 x 512 up to 30 % and
// with 2048 x 2048 70 % faster (AVX-512; batches of 128 to 512, second cache of 2 MB).
constexpr int64_t own_cache_bytes = 512 * 1024, group_rows = 256;
inline bool panels_pay(int64_t n_in, int64_t n_out, int64_t tiles) {
    return !is_small && tiles > 1 && n_in * n_out * int64_t(sizeof(real)) > own_cache_bytes;
}

inline Epilogue derivative_of(Activation a) {
    if (a == Activation::identity) return Epilogue::store;
    return a == Activation::relu ? Epilogue::relu_mask : Epilogue::multiply;
}

inline Layer plan_layer(const Job& job, int l, int64_t offset, int64_t tiles, int64_t rows,
                        Arena& arena) {
    Layer layer{};
    layer.n_in = job.widths[l];
    layer.n_out = job.widths[l + 1];
    layer.last = l == job.n_layers - 1;
    layer.wide = wide_is_cheaper(layer.n_in, layer.n_out, tiles);
    layer.blocked = panels_pay(layer.n_in, layer.n_out, tiles);
    layer.activation =
        layer.last ? HiddenLayer{Activation::identity, 0, 0} : job.hidden[l];
    // Dropout is a factor of the derivative too, which then needs a tile of its own.
    const bool dropped = job.dropout > 0 && !layer.last;
    layer.derivative = dropped ? Epilogue::multiply : derivative_of(layer.activation.activation);
    layer.offset = offset;
    layer.h = arena.take<real>(layer.n_out * rows);
    if (layer.derivative == Epilogue::multiply) layer.slope = arena.take<real>(layer.n_out * rows);
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
    return is_small || int64_t(widest) * L * 16 > 32768 ? 2 : 4;
}

// Tiles of R rows that go through the network together: more than one where a layer is blocked.
inline int tiles_together(const Job& job, int64_t tiles, int R) {
    bool any = false;
    for (int l = 0; l < job.n_layers; ++l)
        any |= panels_pay(job.widths[l], job.widths[l + 1], tiles);
    const int64_t most = group_rows / R;
    return !any ? 1 : int(tiles < most ? tiles : most);
}

// Rows that the tiles of a group take at most.
inline int64_t group_rows_of(const Network& net) {
    const int64_t together = int64_t(net.group) * net.largest_vb * L;
    return together > largest_tile ? together : largest_tile;
}

inline Network plan_network(const Job& job, int64_t batch, Arena& arena) {
    Network net{};
    net.n_layers = job.n_layers;
    net.likelihood = job.likelihood;
    net.softening = {job.class_weights, real(job.label_smoothing),
                     !job.class_weights && job.label_smoothing == 0};
    net.head = plan_head(job);
    net.largest_vb = choose_vb(job, batch);
    const int64_t tiles = (batch + net.largest_vb * L - 1) / (net.largest_vb * L);
    net.layers = arena.take<Layer>(job.n_layers);
    net.group = tiles_together(job, tiles, net.largest_vb * L);
    const int64_t rows = group_rows_of(net);
    int64_t offset = 0, n_lanes = 0, packed = 0, partial = 0;
    bool any_wide = false;
    for (int l = 0; l < job.n_layers; ++l) {
        Layer layer = plan_layer(job, l, offset, tiles, rows, arena);
        const int64_t weights = int64_t(layer.n_in) * layer.n_out;
        offset += weights + layer.n_out;
        n_lanes += (layer.wide ? 0 : weights) + layer.n_out;
        any_wide |= layer.wide;
        if (layer.blocked) {
            const Room forth = panel_room(layer.n_in, layer.n_out);
            const Room back = panel_room(layer.n_out, layer.n_in);
            for (const Room& room : {forth, back}) {
                if (room.packed > packed) packed = room.packed;
                if (room.partial > partial) partial = room.partial;
            }
        }
        if (net.layers) net.layers[l] = layer;
    }
    net.n_parameters = offset;
    net.parameters = arena.take<real>(padded(offset));
    net.gradient = arena.take<real>(padded(offset));
    net.transposed = arena.take<real>(any_wide ? transposed_size : 0);
    net.packed = arena.take<real>(packed);
    net.partial = arena.take<real>(partial);
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

// How many tiles go through the network together: an int, or One, with which every loop over the
// tiles is gone when it is compiled (measured: 10 % on networks of 8 units).
struct One {
    constexpr operator int() const { return 1; }
};

template <int VB, bool FORWARD, Epilogue E, class Tiles>
PELLUCID_INLINE void product(const Network& net, const Layer& layer, Tiles tiles, const real* x,
                             const real* factor, real* out) {
    const real* W = net.parameters + layer.offset;
    const real* bias = FORWARD ? W + int64_t(layer.n_in) * layer.n_out : nullptr;
    const int n_k = FORWARD ? layer.n_in : layer.n_out, n_j = FORWARD ? layer.n_out : layer.n_in;
    if constexpr (VB > 1 && !__is_same(Tiles, One)) {
        if (layer.blocked && tiles > 1)
            return Panels<VB>::template product<FORWARD, E>(tiles, x, n_k, W, layer.n_in, bias,
                                                            factor, out, n_j, net.packed,
                                                            net.partial);
    }
    for (int t = 0; t < tiles; ++t) {
        const int64_t at = int64_t(t) * n_j * VB * L;
        Product<VB, FORWARD, E>::run(x + int64_t(t) * n_k * VB * L, n_k, W, layer.n_in, bias,
                                     factor ? factor + at : nullptr, out + at, n_j);
    }
}

// z = W x + b, or relu(z), of each tile
template <int VB, class Tiles>
PELLUCID_INLINE void forward(const Network& net, const Layer& layer, Tiles tiles, const real* x) {
    if (layer.derivative == Epilogue::relu_mask)
        product<VB, true, Epilogue::relu>(net, layer, tiles, x, nullptr, layer.h);
    else
        product<VB, true, Epilogue::store>(net, layer, tiles, x, nullptr, layer.h);
}

// below.h = (W^T delta) times the derivative of the activation below
template <int VB, class Tiles>
PELLUCID_INLINE void backward(const Network& net, const Layer& layer, Tiles tiles,
                              const Layer& below) {
    switch (below.derivative) {
        case Epilogue::relu_mask:
            return product<VB, false, Epilogue::relu_mask>(net, layer, tiles, layer.h, below.h,
                                                           below.h);
        case Epilogue::multiply:
            return product<VB, false, Epilogue::multiply>(net, layer, tiles, layer.h, below.slope,
                                                          below.h);
        default:
            return product<VB, false, Epilogue::store>(net, layer, tiles, layer.h, nullptr,
                                                       below.h);
    }
}

// One or more tiles. dropout: null where the whole network is evaluated; first: the first tile's
// first row in the batch.
template <int VB, class Tiles = One>
void forward_pass(const Network& net, const real* x, Tiles tiles = {},
                  const Dropout* dropout = nullptr, int64_t first = 0) {
    constexpr int R = VB * L;
    for (int l = 0; l < net.n_layers; ++l) {
        const Layer& layer = net.layers[l];
        forward<VB>(net, layer, tiles, x);
        if (layer.derivative == Epilogue::multiply) {
            const int64_t size = int64_t(layer.n_out) * R;
            activate(layer.activation, layer.h, layer.h, layer.slope, tiles * size);
            if (dropout)
                for (int t = 0; t < tiles; ++t)
                    drop<VB>(*dropout, l, first + t * R, layer.n_out, layer.h + t * size,
                             layer.slope + t * size);
        }
        x = layer.h;
    }
}

// Adds these tiles' part of the gradient. On entry the last layer's tiles hold their deltas; on
// the way down each delta overwrites the hidden representation that it belongs to, which nobody
// needs any more: half the memory, and a network of 64 units stays in the first cache.
template <int VB, class Tiles = One>
void backward_pass(const Network& net, const real* x, Tiles tiles = {}) {
    for (int l = net.n_layers - 1; l >= 0; --l) {
        const Layer& layer = net.layers[l];
        const real *delta = layer.h, *h = l ? net.layers[l - 1].h : x;
        if (layer.wide) {
            WideGradient<VB>::run(tiles, delta, h, net.transposed, net.gradient + layer.offset,
                                  layer.n_in, layer.n_out);
            bias_lanes<VB>(tiles, delta, layer.lanes, layer.n_out);
        } else {
            for (int t = 0; t < tiles; ++t)
                LaneGradient<VB>::run(delta + int64_t(t) * layer.n_out * VB * L,
                                      h + int64_t(t) * layer.n_in * VB * L, layer.lanes,
                                      layer.n_in, layer.n_out);
        }
        if (l > 0) backward<VB>(net, layer, tiles, net.layers[l - 1]);
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
