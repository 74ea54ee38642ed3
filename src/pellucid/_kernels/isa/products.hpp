// Products of a weight matrix with a tile of rows.
//
// A tile holds R = VB * L rows as [unit][row]: rows are the vector lanes, weights are broadcast.
// A register tile is JO outputs by VB vectors; it reads JO + VB numbers or vectors for JO * VB
// multiply-adds, so that loads (two a cycle, like multiply-adds) do not limit it.
#pragma once

#include "vec.hpp"

namespace pellucid::PELLUCID_ISA {

enum class Epilogue {
    store,       // z
    relu,        // max(z, 0)
    relu_mask,   // z where factor > 0, else 0: the derivative of relu, from its value
    multiply     // z * factor: the derivative of a smooth activation
};

enum class Start { zero, bias, sums };  // what the sum over inputs is added to

// Outputs in one register tile: 16 accumulators of 32 registers (24 were no faster), 12 of 16
// (measured under AVX2: 8 were 8 % slower).
template <int VB>
constexpr int widest_block() {
    if (VB == 4) return many_registers ? 4 : 3;
    if (VB == 2) return many_registers ? 8 : 6;
    return 8;
}

// out_j = epilogue(begin_j + sum_i w(j, i) x_i) for JO outputs j, with
// w(j, i) = w[j * stride + i] (BY_ROW: the layer itself) or w[i * stride + j] (its transpose).
// out may be factor or begin.
template <int VB, int JO, bool BY_ROW, Start S, Epilogue E>
PELLUCID_INLINE void product_block(const real* __restrict x, int n_in, const real* __restrict w,
                                   int64_t stride, const real* begin, const real* factor,
                                   real* out) {
    constexpr int R = VB * L;
    vf sums[JO][VB];
    for (int j = 0; j < JO; ++j)
        for (int v = 0; v < VB; ++v) {
            if (S == Start::zero) sums[j][v] = vf{};
            if (S == Start::bias) sums[j][v] = all(begin[j]);
            if (S == Start::sums) sums[j][v] = load(begin + j * R + v * L);
        }
    for (int i = 0; i < n_in; ++i) {
        vf xi[VB];
        for (int v = 0; v < VB; ++v) xi[v] = load(x + i * R + v * L);
        for (int j = 0; j < JO; ++j) {
            const vf wj = all(BY_ROW ? w[j * stride + i] : w[i * stride + j]);
            for (int v = 0; v < VB; ++v) sums[j][v] += wj * xi[v];
        }
    }
    for (int j = 0; j < JO; ++j)
        for (int v = 0; v < VB; ++v) {
            const int at = j * R + v * L;
            vf z = sums[j][v];
            if (E == Epilogue::relu) z = max(vf{}, z);
            if (E == Epilogue::relu_mask) z = select(load(factor + at) > vf{}, z, vf{});
            if (E == Epilogue::multiply) z *= load(factor + at);
            store(out + at, z);
        }
}

template <int VB, bool BY_ROW, Epilogue E>
struct Product {
    static constexpr int R = VB * L;
    static constexpr Start start = BY_ROW ? Start::bias : Start::zero;
    static constexpr int64_t advance(int64_t stride) { return BY_ROW ? stride : 1; }

    template <int JO>
    static __attribute__((noinline)) void block(const real* x, int n_in, const real* w,
                                                int64_t stride, const real* bias,
                                                const real* factor, real* out, int blocks) {
        for (int k = 0; k < blocks; ++k) {
            product_block<VB, JO, BY_ROW, start, E>(x, n_in, w, stride, bias, factor, out);
            w += JO * advance(stride);
            if (BY_ROW) bias += JO;
            if (E == Epilogue::relu_mask || E == Epilogue::multiply) factor += JO * R;
            out += JO * R;
        }
    }

    template <int JO>
    static void rest(int left, const real* x, int n_in, const real* w, int64_t stride,
                     const real* bias, const real* factor, real* out) {
        if constexpr (JO > 0) {
            if (left == JO) return block<JO>(x, n_in, w, stride, bias, factor, out, 1);
            rest<JO - 1>(left, x, n_in, w, stride, bias, factor, out);
        }
    }

    static void run(const real* x, int n_in, const real* w, int64_t stride, const real* bias,
                    const real* factor, real* out, int n_out) {
        constexpr int JO = widest_block<VB>();
        const int blocks = n_out / JO, done = blocks * JO;
        if (blocks) block<JO>(x, n_in, w, stride, bias, factor, out, blocks);
        if (done == n_out) return;
        rest<JO - 1>(n_out - done, x, n_in, w + done * advance(stride), stride,
                     BY_ROW ? bias + done : nullptr, factor ? factor + done * R : nullptr,
                     out + done * R);
    }
};

}  // namespace pellucid::PELLUCID_ISA
