// Weight gradients, dW(o, i) = sum over rows of delta_o x_i, in two ways.
//
// Lanes: one accumulator vector for each weight, whose lanes are partial sums; they are added up
// once a step. Nothing is transposed, but the accumulators take a vector a weight: good while
// they stay in the first cache and a step has several tiles.
// Wide: x is transposed to [row][unit] and delta broadcast, an outer product a row, added to the
// gradient itself. The transposition pays when many outputs share it.
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

// x [unit][row] -> [block][row][L units], width >= L
template <int VB>
void transpose_tile(const real* x, real* out, int width) {
    constexpr int R = VB * L;
    for (int k = 0; k * L < width; ++k) {
        const int start = block_start(k, width), shared = k * L - start;
        const vi mine = lane_numbers() >= shared;
        for (int v = 0; v < VB; ++v) {
            vf rows[L];
            for (int i = 0; i < L; ++i) rows[i] = load(x + (start + i) * R + v * L);
            transpose(rows);
            real* to = out + (int64_t(k) * R + v * L) * L;
            for (int i = 0; i < L; ++i)
                store(to + i * L, shared ? select(mine, rows[i], vf{}) : rows[i]);
        }
    }
}

template <int VB>
struct WideGradient {
    static constexpr int R = VB * L;
    static constexpr int BO = many_registers ? 4 : 6, BK = many_registers ? 4 : 2;

    // gradient(o, block k) += sum over rows of delta(o, row) x(row, block k)
    template <int NO, int NK>
    static PELLUCID_INLINE void block(const real* __restrict delta, const real* __restrict xt,
                                      real* gradient, int n_in, int k0) {
        vf s[NO][NK];
        for (int o = 0; o < NO; ++o)
            for (int k = 0; k < NK; ++k) s[o][k] = vf{};
        for (int r = 0; r < R; ++r) {
            vf x[NK];
            for (int k = 0; k < NK; ++k) x[k] = load(xt + (k * R + r) * L);
            for (int o = 0; o < NO; ++o) {
                const vf d = all(delta[o * R + r]);
                for (int k = 0; k < NK; ++k) s[o][k] += d * x[k];
            }
        }
        for (int o = 0; o < NO; ++o)
            for (int k = 0; k < NK; ++k) {
                real* g = gradient + int64_t(o) * n_in + block_start(k0 + k, n_in);
                store_anywhere(g, load_anywhere(g) + s[o][k]);
            }
    }

    template <int NO, int NK>
    static void rest(int left, const real* delta, const real* xt, real* gradient, int n_in,
                     int k0) {
        if constexpr (NO > 0) {
            if (left == NO) return block<NO, NK>(delta, xt, gradient, n_in, k0);
            rest<NO - 1, NK>(left, delta, xt, gradient, n_in, k0);
        }
    }

    template <int NK>
    static __attribute__((noinline)) void outputs(const real* delta, const real* xt,
                                                  real* gradient, int n_in, int n_out, int k0) {
        int o = 0;
        for (; o + BO <= n_out; o += BO)
            block<BO, NK>(delta + o * R, xt, gradient + int64_t(o) * n_in, n_in, k0);
        rest<BO - 1, NK>(n_out - o, delta + o * R, xt, gradient + int64_t(o) * n_in, n_in, k0);
    }

    // xt: transpose_tile of x; gradient (n_out, n_in)
    static void run(const real* delta, const real* xt, real* gradient, int n_in, int n_out) {
        const int blocks = (n_in + L - 1) / L;
        int k = 0;
        for (; k + BK <= blocks; k += BK)
            outputs<BK>(delta, xt + int64_t(k) * R * L, gradient, n_in, n_out, k);
        for (; k < blocks; ++k)
            outputs<1>(delta, xt + int64_t(k) * R * L, gradient, n_in, n_out, k);
    }
};

// sums[o] += the lanes of delta_o: the bias gradients of a wide layer
template <int VB>
void bias_lanes(const real* delta, real* sums, int n_out) {
    for (int o = 0; o < n_out; ++o) {
        vf s = load(sums + o * L);
        for (int v = 0; v < VB; ++v) s += load(delta + (o * VB + v) * L);
        store(sums + o * L, s);
    }
}

}  // namespace pellucid::PELLUCID_ISA
