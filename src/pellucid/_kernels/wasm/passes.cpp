#include "passes.hpp"

#include "../isa/evaluation.hpp"

namespace pellucid::PELLUCID_ISA {
namespace {

// Vectors in a row of a tile.
constexpr int VB = sizeof(real) == 4 ? 2 : 1, R = VB * L;

// Calls visit(first row, valid rows) for one tile after the other.
template <class Visit>
void each_tile(int64_t n, const Visit& visit) {
    for (int64_t at = 0; at < n; at += R) visit(at, n - at < R ? int(n - at) : R);
}

// Room for one tile of the widest layer.
struct Tiles {
    real *x, *z, *h, *slope, *targets;
    int32_t* labels;
};

Tiles plan_tiles(const Job& job, Arena& arena) {
    int64_t widest = 0;
    for (int l = 0; l <= job.n_layers; ++l)
        if (job.widths[l] > widest) widest = job.widths[l];
    const int64_t size = widest * R;
    Tiles tiles{};
    for (real** of : {&tiles.x, &tiles.z, &tiles.h, &tiles.slope, &tiles.targets})
        *of = arena.take<real>(size);
    tiles.labels = arena.take<int32_t>(R);
    return tiles;
}

size_t bytes(const Job& job) {
    Arena arena{nullptr};
    plan_tiles(job, arena);
    return arena.used;
}

// tile [unit][R] -> rows of `to` (n, width) from `first` on
void scatter(const real* tile, int width, int64_t first, int valid, real* to) {
    for (int r = 0; r < valid; ++r)
        for (int i = 0; i < width; ++i) to[(first + r) * width + i] = tile[int64_t(i) * R + r];
}

void put(real* const* arrays, int l, const real* tile, int width, int64_t first, int valid) {
    if (arrays && arrays[l]) scatter(tile, width, first, valid, arrays[l]);
}

void forward_rows(const Job& job, void* memory, const real* parameters, const real* X, int64_t n,
                  real* const* z, real* const* h, real* const* slopes) {
    const FlushSubnormals flush;
    Arena arena{static_cast<char*>(memory)};
    const Tiles tiles = plan_tiles(job, arena);
    each_tile(n, [&](int64_t first, int valid) {
        gather(X, job.widths[0], {nullptr, first, valid}, R, tiles.x);
        const real *in = tiles.x, *W = parameters;
        for (int l = 0; l < job.n_layers; ++l) {
            const int n_in = job.widths[l], n_out = job.widths[l + 1];
            const real* bias = W + int64_t(n_in) * n_out;
            Product<VB, true, Epilogue::store>::run(in, n_in, W, n_in, bias, nullptr, tiles.z, n_out);
            put(z, l, tiles.z, n_out, first, valid);
            if (l + 1 == job.n_layers) break;
            activate(job.hidden[l], tiles.z, tiles.h, tiles.slope, int64_t(n_out) * R);
            put(h, l, tiles.h, n_out, first, valid);
            put(slopes, l, tiles.slope, n_out, first, valid);
            in = tiles.h;
            W = bias + n_out;
        }
    });
}

double loss_of_rows(const Job& job, void* memory, const Rows& rows, const real* outputs,
                    real* gradient) {
    const FlushSubnormals flush;
    Arena arena{static_cast<char*>(memory)};
    const Tiles tiles = plan_tiles(job, arena);
    const int d_out = job.widths[job.n_layers];
    const Head head = plan_head(job);
    const Softening soft{nullptr, real(job.label_smoothing), job.label_smoothing == 0};
    const real weight = real(1) / real(rows.n);
    LossSum sum_of;
    each_tile(rows.n, [&](int64_t first, int valid) {
        const Selection selection{nullptr, first, valid};
        gather(outputs, d_out, selection, R, tiles.z);
        if (rows.labels) gather(rows.labels, selection, R, tiles.labels);
        else gather(rows.targets, int(target_columns(job)), selection, R, tiles.targets);
        const Targets y{tiles.labels, tiles.targets, nullptr, valid};
        if (job.likelihood > Likelihood::categorical)
            head_losses<true>(head, tiles.z, d_out, R, y, weight, tiles.z, sum_of);
        else
            losses<VB, true>(job.likelihood, soft, tiles.z, d_out, y, weight, tiles.z, sum_of);
        scatter(tiles.z, d_out, first, valid, gradient);
    });
    return sum_of.finite() ? sum_of.loss / double(rows.n) : __builtin_nan("");
}

}  // namespace

extern const Passes<real> passes;
const Passes<real> passes{bytes, forward_rows, loss_of_rows};

}  // namespace pellucid::PELLUCID_ISA
