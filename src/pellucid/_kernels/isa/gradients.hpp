// Weight gradients, dW(o, i) = sum over rows of delta_o x_i, in two ways.
//
// Lanes: one accumulator vector for each weight, whose lanes are partial sums; they are added up
// once a step. Nothing is transposed, but the accumulators take a vector a weight: good while
// they stay in the first cache and a step has several tiles.
// Wide: x is transposed to [row][unit] and delta broadcast, an outer product a row, added to the
// gradient itself once for several tiles. The transposition pays when many outputs share it.
#pragma once

#include "vec.hpp"

namespace pellucid::PELLUCID_ISA {

template <int VB, int BO, int BI, bool BIAS>
PELLUCID_INLINE void lanes_block(const real* __restrict delta, const real* __restrict x,
                                 int64_t n_in, real* __restrict sums,
                                 real* __restrict bias_sums) {
    constexpr int R = VB * L;
    vf s[BO][BI], sb[BO];
    for (int o = 0; o < BO; ++o) {
        for (int i = 0; i < BI; ++i) s[o][i] = load(sums + (o * n_in + i) * L);
        if (BIAS) sb[o] = load(bias_sums + o * L);
    }
    for (int v = 0; v < VB; ++v) {
        vf d[BO];
        for (int o = 0; o < BO; ++o) d[o] = load(delta + o * R + v * L);
        for (int i = 0; i < BI; ++i) {
            const vf xi = load(x + i * R + v * L);
            for (int o = 0; o < BO; ++o) s[o][i] += d[o] * xi;
        }
        if (BIAS)
            for (int o = 0; o < BO; ++o) sb[o] += d[o];
    }
    for (int o = 0; o < BO; ++o) {
        for (int i = 0; i < BI; ++i) store(sums + (o * n_in + i) * L, s[o][i]);
        if (BIAS) store(bias_sums + o * L, sb[o]);
    }
}

template <int VB>
struct LaneGradient {
    static constexpr int R = VB * L;
    static constexpr int BO_MAX = many_registers ? 4 : 2, BI_MAX = 4;

    // All inputs of BO outputs; the first block of inputs takes the bias along.
    template <int BO, int BI>
    static PELLUCID_INLINE void inputs(const real* delta, const real* x, int n_in, real* sums,
                                       real* bias_sums) {
        lanes_block<VB, BO, BI, true>(delta, x, n_in, sums, bias_sums);
        for (int i = BI; i < n_in; i += BI_MAX)
            lanes_block<VB, BO, BI_MAX, false>(delta, x + i * R, n_in, sums + i * L, nullptr);
    }

    template <int BO>
    static __attribute__((noinline)) void outputs(const real* delta, const real* x, int n_in,
                                                  real* sums, real* bias_sums, int blocks) {
        for (int k = 0; k < blocks; ++k) {
            switch (n_in % BI_MAX) {
                case 0: inputs<BO, 4>(delta, x, n_in, sums, bias_sums); break;
                case 1: inputs<BO, 1>(delta, x, n_in, sums, bias_sums); break;
                case 2: inputs<BO, 2>(delta, x, n_in, sums, bias_sums); break;
                case 3: inputs<BO, 3>(delta, x, n_in, sums, bias_sums); break;
            }
            delta += BO * R;
            sums += int64_t(BO) * n_in * L;
            bias_sums += BO * L;
        }
    }

    // sums: [n_out][n_in][L], then the biases' [n_out][L]
    static void run(const real* delta, const real* x, real* sums, int n_in, int n_out) {
        real* bias_sums = sums + int64_t(n_out) * n_in * L;
        const int blocks = n_out / BO_MAX, done = blocks * BO_MAX, left = n_out - done;
        if (blocks) outputs<BO_MAX>(delta, x, n_in, sums, bias_sums, blocks);
        delta += done * R;
        sums += int64_t(done) * n_in * L;
        bias_sums += done * L;
        if (left == 1) outputs<1>(delta, x, n_in, sums, bias_sums, 1);
        if constexpr (BO_MAX > 2) {
            if (left == 2) outputs<2>(delta, x, n_in, sums, bias_sums, 1);
            if (left == 3) outputs<3>(delta, x, n_in, sums, bias_sums, 1);
        }
    }
};

// gradient[p] = sum of the lanes of sums[p], which becomes 0 again.
inline void add_up_lanes(real* sums, real* gradient, int64_t n) {
    int64_t p = 0;
    for (; p + L <= n; p += L) {
        vf rows[L];
        for (int i = 0; i < L; ++i) {
            rows[i] = load(sums + (p + i) * L);
            store(sums + (p + i) * L, vf{});
        }
        store_anywhere(gradient + p, sum_each(rows));
    }
    if (p == n) return;
    vf rows[L];  // what lies behind belongs to the next layer
    for (int i = 0; i < L; ++i) rows[i] = p + i < n ? load(sums + (p + i) * L) : vf{};
    const vf total = sum_each(rows);
    for (int i = 0; p + i < n; ++i) {
        gradient[p + i] = total[i];
        store(sums + (p + i) * L, vf{});
    }
}

// Where block k of L units starts: the last one is moved back to end with the last unit, and the
// units that it shares with its neighbour are 0 in it.
PELLUCID_INLINE int block_start(int k, int width) {
    return (k + 1) * L <= width ? k * L : width - L;
}

// Block k of x [unit][row] -> [row][L units]; width >= L
template <int VB>
void transpose_block(const real* x, int k, int width, real* out) {
    constexpr int R = VB * L;
    const int start = block_start(k, width), shared = k * L - start;
    const vi mine = lane_numbers() >= shared;
    for (int v = 0; v < VB; ++v) {
        vf rows[L];
        for (int i = 0; i < L; ++i) rows[i] = load(x + (start + i) * R + v * L);
        transpose(rows);
        for (int i = 0; i < L; ++i)
            store(out + (v * L + i) * L, shared ? select(mine, rows[i], vf{}) : rows[i]);
    }
}

template <int VB>
struct WideGradient {
    static constexpr int R = VB * L;
    static constexpr int BO = many_registers ? 4 : 6, BK = many_registers ? 4 : 2;
    // Tiles that share one pass: their part of BK blocks stays in the first cache.
    static constexpr int fit = 32768 / (BK * R * L * int(sizeof(real)));
    static constexpr int TILES = fit > 1 ? fit : 1;

    // gradient(o, block k) += sum over rows of delta(o, row) x(row, block k)
    template <int NO, int NK>
    static PELLUCID_INLINE void block(int tiles, const real* __restrict delta, int64_t stride,
                                      const real* __restrict xt, real* gradient, int n_in,
                                      int k0) {
        vf s[NO][NK];
        for (int o = 0; o < NO; ++o)
            for (int k = 0; k < NK; ++k) {
                s[o][k] = vf{};
                __builtin_prefetch(gradient + int64_t(o) * n_in + block_start(k0 + k, n_in), 1);
            }
        for (int t = 0; t < tiles; ++t) {
            for (int r = 0; r < R; ++r) {
                vf x[NK];
                for (int k = 0; k < NK; ++k) x[k] = load(xt + (k * TILES * R + r) * L);
                for (int o = 0; o < NO; ++o) {
                    const vf d = all(delta[o * R + r]);
                    for (int k = 0; k < NK; ++k) s[o][k] += d * x[k];
                }
            }
            delta += stride;
            xt += R * L;
        }
        for (int o = 0; o < NO; ++o)
            for (int k = 0; k < NK; ++k) {
                real* g = gradient + int64_t(o) * n_in + block_start(k0 + k, n_in);
                store_anywhere(g, load_anywhere(g) + s[o][k]);
            }
    }

    template <int NO, int NK>
    static void rest(int left, int tiles, const real* delta, int64_t stride, const real* xt,
                     real* gradient, int n_in, int k0) {
        if constexpr (NO > 0) {
            if (left == NO)
                return block<NO, NK>(tiles, delta, stride, xt, gradient, n_in, k0);
            rest<NO - 1, NK>(left, tiles, delta, stride, xt, gradient, n_in, k0);
        }
    }

    template <int NK>
    static __attribute__((noinline)) void outputs(int tiles, const real* delta, const real* xt,
                                                  real* gradient, int n_in, int n_out, int k0) {
        const int64_t stride = int64_t(n_out) * R;
        int o = 0;
        for (; o + BO <= n_out; o += BO)
            block<BO, NK>(tiles, delta + o * R, stride, xt, gradient + int64_t(o) * n_in, n_in, k0);
        rest<BO - 1, NK>(n_out - o, tiles, delta + o * R, stride, xt,
                         gradient + int64_t(o) * n_in, n_in, k0);
    }

    template <int NK>
    static void blocks(int tiles, const real* delta, const real* x, real* xt, real* gradient,
                       int n_in, int n_out, int k0) {
        for (int k = 0; k < NK; ++k)
            for (int t = 0; t < tiles; ++t)
                transpose_block<VB>(x + int64_t(t) * n_in * R, k0 + k, n_in,
                                    xt + (k * TILES + t) * R * L);
        outputs<NK>(tiles, delta, xt, gradient, n_in, n_out, k0);
    }

    // delta, x: tiles [unit][row]; xt: room for transposed_size numbers; gradient (n_out, n_in)
    static void run(int tiles, const real* delta, const real* x, real* xt, real* gradient,
                    int n_in, int n_out) {
        const int n_blocks = (n_in + L - 1) / L;
        for (int t = 0; t < tiles; t += TILES) {
            const int now = tiles - t < TILES ? tiles - t : TILES;
            const real* d = delta + int64_t(t) * n_out * R;
            const real* xs = x + int64_t(t) * n_in * R;
            int k = 0;
            for (; k + BK <= n_blocks; k += BK)
                blocks<BK>(now, d, xs, xt, gradient, n_in, n_out, k);
            for (; k < n_blocks; ++k) blocks<1>(now, d, xs, xt, gradient, n_in, n_out, k);
        }
    }
};

// Room for the transposed inputs of one pass, whatever the tiles.
constexpr int64_t transposed_size =
    WideGradient<4>::BK * L * int64_t(WideGradient<4>::TILES * 4 > WideGradient<1>::TILES
                                          ? WideGradient<4>::TILES * 4
                                          : WideGradient<1>::TILES) * L;

// sums[o] += the lanes of delta_o: the bias gradients of a wide layer
template <int VB, class Tiles>
void bias_lanes(Tiles tiles, const real* delta, real* sums, int n_out) {
    for (int o = 0; o < n_out; ++o) {
        vf s = load(sums + o * L);
        for (int t = 0; t < tiles; ++t)
            for (int v = 0; v < VB; ++v)
                s += load(delta + ((int64_t(t) * n_out + o) * VB + v) * L);
        store(sums + o * L, s);
    }
}

}  // namespace pellucid::PELLUCID_ISA
