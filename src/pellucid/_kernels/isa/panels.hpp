// Products with a weight matrix that the first cache does not hold.
//
// Several tiles share one pass over the weights. Panels of weights are copied into the order in
// which they are read, a block of panels that stays in the second cache at a time; each tile then
// meets them in runs of inputs that stay in the first (Goto and van de Geijn, 2008). A tile is a
// packed panel of rows already.
#pragma once

#include "products.hpp"

namespace pellucid::PELLUCID_ISA {

constexpr int64_t block_bytes = 512 * 1024;  // of packed weights
constexpr int longest_run = 256;             // inputs: 32 KB of a tile of 32 rows

template <int VB>
struct Panels {
    static constexpr int R = VB * L, JO = widest_block<VB>();
    static constexpr int WIDTH = L % JO == 0 ? L : JO;  // outputs in a panel, [input][output]

    // Outputs whose panels are packed together.
    static int64_t outputs_at_once(int64_t n_k) {
        const int64_t panels = block_bytes / int64_t(sizeof(real)) / (n_k * WIDTH);
        return (panels ? panels : 1) * WIDTH;
    }

    // Rows of W (n_out, n_in) -> panel; rows that do not exist give 0.
    static void pack_rows(const real* W, int64_t stride, int rows, int n_in, real* panel) {
        constexpr int S = (WIDTH + L - 1) / L;
        if (rows > WIDTH) rows = WIDTH;
        int i = 0;
        for (; i + L <= n_in; i += L) {
            vf block[S][L];
            for (int s = 0; s < S; ++s) {
                for (int r = 0; r < L; ++r)
                    block[s][r] =
                        s * L + r < rows ? load_anywhere(W + (s * L + r) * stride + i) : vf{};
                transpose(block[s]);
            }
            // What a vector has beyond the panel's width the next one overwrites.
            for (int r = 0; r < L; ++r)
                for (int s = 0; s < S; ++s)
                    store_anywhere(panel + (i + r) * WIDTH + s * L, block[s][r]);
        }
        for (; i < n_in; ++i)
            for (int j = 0; j < WIDTH; ++j) panel[i * WIDTH + j] = j < rows ? W[j * stride + i] : 0;
    }

    // Columns of W -> panels, a row of W at a time
    static void pack_columns(const real* W, int64_t stride, int columns, int n_out,
                             real* panels) {
        const int64_t panel_size = int64_t(n_out) * WIDTH;
        const int whole = columns / WIDTH;
        for (int o = 0; o < n_out; ++o) {
            const real* w = W + o * stride;
            real* to = panels + o * WIDTH;
            for (int p = 0; p < whole; ++p, w += WIDTH, to += panel_size)
                __builtin_memcpy(to, w, sizeof(real) * WIDTH);
            for (int c = 0; c < columns - whole * WIDTH; ++c) to[c] = w[c];
        }
    }

    // One run of inputs of one tile with all packed panels.
    template <Start S, Epilogue E>
    static __attribute__((noinline)) void run(const real* x, int n_k, const real* panels,
                                              int64_t panel_size, const real* begin,
                                              const real* factor, real* out, int n_j) {
        for (int j = 0; j < n_j; j += JO) {
            const real* w = panels + j / WIDTH * panel_size + j % WIDTH;
            product_block<VB, JO, false, S, E>(x, n_k, w, WIDTH, begin, factor, out);
            if (S == Start::bias) begin += JO;
            if (S == Start::sums) begin += JO * R;
            if (E == Epilogue::relu_mask || E == Epilogue::multiply) factor += JO * R;
            out += JO * R;
        }
    }

    // x, out and factor: tiles of n_k and n_j units; bias null: the transposed product.
    template <bool FORWARD, Epilogue E>
    static void product(int tiles, const real* x, int n_k, const real* W, int64_t stride,
                        const real* bias, const real* factor, real* out, int n_j,
                        real* packed, real* partial) {
        constexpr Start first = FORWARD ? Start::bias : Start::zero;
        const int runs = (n_k + longest_run - 1) / longest_run, length = (n_k + runs - 1) / runs;
        const int whole = n_j / JO * JO, at_once = int(outputs_at_once(n_k));
        const int64_t panel_size = int64_t(n_k) * WIDTH;
        for (int j0 = 0; j0 < whole; j0 += at_once) {
            const int n = whole - j0 < at_once ? whole - j0 : at_once;
            if (!FORWARD) pack_columns(W + j0, stride, n, n_k, packed);
            for (int j = 0; FORWARD && j < n; j += WIDTH)
                pack_rows(W + (j0 + j) * stride, stride, n - j, n_k,
                          packed + j / WIDTH * panel_size);
            for (int t = 0; t < tiles; ++t) {
                const int64_t at = (int64_t(t) * n_j + j0) * R;
                const real* xt = x + int64_t(t) * n_k * R;
                const real* begin = FORWARD ? bias + j0 : nullptr;
                const real* times = factor ? factor + at : nullptr;
                if (runs == 1) {
                    run<first, E>(xt, n_k, packed, panel_size, begin, times, out + at, n);
                    continue;
                }
                run<first, Epilogue::store>(xt, length, packed, panel_size, begin, nullptr, partial,
                                            n);
                int k = length;
                for (; k + length < n_k; k += length)
                    run<Start::sums, Epilogue::store>(xt + k * R, length, packed + k * WIDTH,
                                                      panel_size, partial, nullptr, partial, n);
                run<Start::sums, E>(xt + k * R, n_k - k, packed + k * WIDTH, panel_size, partial,
                                    times, out + at, n);
            }
        }
        if (whole == n_j) return;
        for (int t = 0; t < tiles; ++t) {
            const int64_t at = (int64_t(t) * n_j + whole) * R;
            Product<VB, FORWARD, E>::run(x + int64_t(t) * n_k * R, n_k,
                                         W + (FORWARD ? whole * stride : whole), stride,
                                         FORWARD ? bias + whole : nullptr,
                                         factor ? factor + at : nullptr, out + at, n_j - whole);
        }
    }
};

// Numbers that packed panels and partial sums need, whatever the tiles.
struct Room {
    int64_t packed, partial;
};

inline Room panel_room(int64_t n_k, int64_t n_j) {
    Room room{0, 0};
    const auto need = [&](int64_t at_once, int64_t width, int64_t R) {
        const int64_t outputs = at_once < n_j + width ? at_once : n_j + width;
        const int64_t packed = outputs * n_k + L, partial = outputs * R;
        if (packed > room.packed) room.packed = packed;
        if (n_k > longest_run && partial > room.partial) room.partial = partial;
    };
    need(Panels<2>::outputs_at_once(n_k), Panels<2>::WIDTH, 2 * L);
    need(Panels<4>::outputs_at_once(n_k), Panels<4>::WIDTH, 4 * L);
    return room;
}

}  // namespace pellucid::PELLUCID_ISA
