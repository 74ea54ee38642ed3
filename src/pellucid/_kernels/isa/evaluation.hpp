// A job's place in memory, its rows on their way into tiles, losses and gradients of batches.
#pragma once

#include "measure.hpp"
#include "network.hpp"
#include "rows.hpp"
#include "state.hpp"

namespace pellucid::PELLUCID_ISA {
namespace {  // not inline: GCC would copy whole passes into their callers, a fifth more code

struct Workspace {
    Network net;
    Run run;
    Meter meter;
    bool full_batch;
    // Tiles: all rows packed (full batch) or the group that was gathered last.
    real *x, *targets, *weights;
    int32_t* labels;
    // One group for evaluation.
    real *x_one, *targets_one, *weights_one;
    int32_t* labels_one;
    double total_weight;  // of all training rows
};

int64_t batch_rows(const Job& job) {
    const int64_t n = job.training.n;
    return job.batch_size == 0 || job.batch_size > n ? n : job.batch_size;
}

// Columns of targets: one for each output, but for the likelihoods that take several of them.
int64_t target_columns(const Job& job) {
    const int64_t d_out = job.widths[job.n_layers];
    if (job.likelihood <= Likelihood::categorical) return d_out;
    return d_out / outputs_per_target(job.likelihood, job.likelihood_parameters,
                                      job.n_likelihood_parameters);
}

Run plan_run(const Job& job, const Network& net, int64_t n_order, Arena& arena) {
    Run run{};
    const int64_t p = padded(net.n_parameters);
    run.n_parameters = net.n_parameters;
    run.n_order = n_order;
    run.lbfgs = plan_lbfgs(job, p, arena);
    run.n_moments = run.lbfgs.m ? 0 : p;
    real* first = arena.take<real>(run.n_moments);
    real* second = arena.take<real>(run.n_moments);
    run.moments = {net.parameters, net.gradient, first, second, p, 1, 1};
    run.snapshot = arena.take<real>(p);
    run.order = arena.take<int32_t>(n_order);
    return run;
}

Workspace plan(const Job& job, Arena& arena) {
    Workspace w{};
    const int64_t batch = batch_rows(job), n = job.training.n;
    const int64_t d_in = job.widths[0], n_targets = target_columns(job);
    w.net = plan_network(job, batch, arena);
    w.full_batch = batch == n;
    w.run = plan_run(job, w.net, w.full_batch ? 0 : n, arena);
    w.meter = plan_meter(job, w.net.n_parameters, arena);
    const int64_t group = group_rows_of(w.net), rows = w.full_batch ? n + largest_tile : group;
    const bool labelled = takes_labels(job.likelihood);
    w.x = arena.take<real>(rows * d_in);
    w.targets = arena.take<real>(labelled ? 0 : rows * n_targets);
    w.labels = arena.take<int32_t>(labelled ? rows : 0);
    w.weights = arena.take<real>(job.training.weights ? rows : 0);
    w.x_one = arena.take<real>(group * d_in);
    w.targets_one = arena.take<real>(labelled ? 0 : group * n_targets);
    w.labels_one = arena.take<int32_t>(labelled ? group : 0);
    w.weights_one = arena.take<real>(group);
    return w;
}

// The tile for the next rows: as large as allowed, smaller at the end.
int tile_vectors(int largest_vb, int64_t left) {
    if (left <= L) return 1;
    if (left <= 2 * L && largest_vb >= 2) return 2;
    return largest_vb;
}

struct TileMemory {
    real* x;
    real* targets;
    int32_t* labels;
    real* weights;  // null where all rows count the same
};

// Calls visit.operator()<VB>(first row, valid rows) for one tile after the other.
template <class Visit>
PELLUCID_INLINE void for_tiles(int largest_vb, int64_t n, const Visit& visit) {
    int64_t at = 0;
    while (at < n) {
        const int vb = tile_vectors(largest_vb, n - at);
        const int R = vb * L;
        const int valid = n - at < R ? int(n - at) : R;
        if (!is_small && vb == 4) visit.template operator()<is_small ? 1 : 4>(at, valid);
        else if (vb == 2) visit.template operator()<2>(at, valid);
        else visit.template operator()<1>(at, valid);
        at += R;
    }
}

// Calls visit.operator()<VB>(first row, valid rows, tiles) for one group of tiles of equal size
// after the other; only its last tile may hold fewer rows than it has room for.
template <class Visit>
PELLUCID_INLINE void for_groups(const Network& net, int64_t n, const Visit& visit) {
    if (is_small || net.group == 1)
        return for_tiles(net.largest_vb, n, [&]<int VB>(int64_t first, int valid) {
            visit.template operator()<VB>(first, valid, One{});
        });
    int64_t at = 0;
    while (at < n) {
        const int vb = tile_vectors(net.largest_vb, n - at);
        int64_t end = at;
        int tiles = 0;
        while (tiles < net.group && end < n && tile_vectors(net.largest_vb, n - end) == vb)
            end += vb * L, ++tiles;
        const int valid = int((n < end ? n : end) - at);
        if (vb == 4) visit.template operator()<4>(at, valid, tiles);
        else if (vb == 2) visit.template operator()<2>(at, valid, tiles);
        else visit.template operator()<1>(at, valid, tiles);
        at = end;
    }
}

void fill(const Job& job, const Rows& rows, const Selection& selection, int R,
          const TileMemory& to) {
    gather(rows.X, job.widths[0], selection, R, to.x);
    if (rows.labels)
        gather(rows.labels, selection, R, to.labels);
    else
        gather(rows.targets, int(target_columns(job)), selection, R, to.targets);
    if (rows.weights) gather(rows.weights, 1, selection, R, to.weights);
}

TileMemory packed_tile(const Job& job, const Workspace& w, int64_t first) {
    const bool labelled = takes_labels(job.likelihood);
    return {w.x + first * job.widths[0],
            labelled ? nullptr : w.targets + first * target_columns(job),
            labelled ? w.labels + first : nullptr,
            job.training.weights ? w.weights + first : nullptr};
}

void pack(const Job& job, const Workspace& w) {
    for_tiles(w.net.largest_vb, job.training.n, [&]<int VB>(int64_t first, int valid) {
        fill(job, job.training, {nullptr, first, valid}, VB * L, packed_tile(job, w, first));
    });
}

// Tile t of a group.
PELLUCID_INLINE TileMemory nth_tile(const Job& job, const TileMemory& group, int t, int R) {
    const int64_t first = int64_t(t) * R;
    return {group.x + first * job.widths[0],
            group.targets ? group.targets + first * target_columns(job) : nullptr,
            group.labels ? group.labels + first : nullptr,
            group.weights ? group.weights + first : nullptr};
}

// The rows from `first` on into the tiles of a group.
template <class Tiles>
PELLUCID_INLINE void fill_group(const Job& job, const Rows& rows, const Selection& selection,
                                Tiles tiles, int R, const TileMemory& group) {
    for (int t = 0; t < tiles; ++t) {
        const int left = selection.valid - t * R;
        fill(job, rows, {selection.order, selection.first + t * R, left < R ? left : R}, R,
             nth_tile(job, group, t, R));
    }
}

template <int VB, class Tiles>
PELLUCID_INLINE void group_losses(const Job& job, const Network& net, const TileMemory& group,
                                  int valid, Tiles tiles, real weight, bool want_loss,
                                  LossSum& sum_of) {
    constexpr int R = VB * L;
    const Layer& last = net.layers[net.n_layers - 1];
    for (int t = 0; t < tiles; ++t) {
        const TileMemory tile = nth_tile(job, group, t, R);
        const int left = valid - t * R;
        const Targets y{tile.labels, tile.targets, tile.weights, left < R ? left : R};
        real* outputs = last.h + int64_t(t) * last.n_out * R;
        if (net.likelihood > Likelihood::categorical) {
            const auto head = want_loss || is_small ? head_losses<true> : head_losses<is_small>;
            head(net.head, outputs, last.n_out, R, y, weight, outputs, sum_of);
        } else if (want_loss)
            losses<VB, true>(net.likelihood, net.softening, outputs, last.n_out, y, weight,
                             outputs, sum_of);
        else
            losses<VB, false>(net.likelihood, net.softening, outputs, last.n_out, y, weight,
                              outputs, sum_of);
    }
}

// What the summed loss of these rows is divided by: their number, or their total weight.
double total_weight(const Job& job, const Rows& rows, const Selection& of) {
    if (!rows.weights && !job.class_weights) return double(of.valid);
    double total = 0;
    for (int r = 0; r < of.valid; ++r) {
        const double u = rows.weights ? rows.weights[of[r]] : 1;
        total += job.class_weights ? u * job.class_weights[rows.labels[of[r]]] : u;
    }
    return total;
}

double mean(double sum, double total) { return total > 0 ? sum / total : 0; }

// Mean loss over rows; nan where it or an output is not finite.
double mean_loss(const Job& job, const Workspace& w, const Rows& rows) {
    LossSum sum_of;
    const TileMemory group{w.x_one, w.targets_one, w.labels_one,
                           rows.weights ? w.weights_one : nullptr};
    for_groups(w.net, rows.n, [&]<int VB>(int64_t first, int valid, auto tiles) {
        fill_group(job, rows, {nullptr, first, valid}, tiles, VB * L, group);
        forward_pass<VB>(w.net, group.x, tiles);
        group_losses<VB>(job, w.net, group, valid, tiles, 0.0f, true, sum_of);
    });
    const double total = total_weight(job, rows, {nullptr, 0, int(rows.n)});
    return sum_of.finite() ? mean(sum_of.loss, total) : __builtin_nan("");
}

// The rows order[first] .. order[first + m - 1], and what their summed loss is divided by.
struct Batch {
    int64_t first, m;
    double total;
};

// Mean loss and gradient over a batch; the meter, if any, counts flat units.
LossSum loss_and_gradient(const Job& job, const Workspace& w, const Batch& batch, bool want_loss,
                          const Dropout* dropout, const Meter* meter) {
    LossSum sum_of;
    const real weight = batch.total > 0 ? 1.0f / real(batch.total) : 0.0f;
    clear_gradient(w.net);
    for_groups(w.net, batch.m, [&]<int VB>(int64_t at, int valid, auto tiles) {
        TileMemory group{w.x, w.targets, w.labels, job.training.weights ? w.weights : nullptr};
        if (w.full_batch)
            group = packed_tile(job, w, at);
        else
            fill_group(job, job.training, {w.run.order, batch.first + at, valid}, tiles, VB * L,
                       group);
        forward_pass<VB>(w.net, group.x, tiles, dropout, at);
        if (meter)
            for (int t = 0; t < tiles; ++t) count_flat<VB>(w.net, *meter, t, valid - t * VB * L);
        group_losses<VB>(job, w.net, group, valid, tiles, weight, want_loss, sum_of);
        backward_pass<VB>(w.net, group.x, tiles);
    });
    collect_gradient(w.net);
    return sum_of;
}

// The gradient of a step. What is measured, is measured without dropout.
LossSum step_gradient(const Job& job, Workspace& w, const Batch& batch, bool want_loss,
                      bool measuring) {
    const Dropout dropout{job.seed, w.run.step, job.dropout};
    const Dropout* dropping = job.dropout > 0 ? &dropout : nullptr;
    if (!measuring) return loss_and_gradient(job, w, batch, want_loss, dropping, nullptr);
    clear_counts(w.meter);
    const LossSum sum_of = loss_and_gradient(job, w, batch, want_loss, nullptr, &w.meter);
    measure_gradient(job, w.net, w.meter, batch.m, w.run.n_measured);
    copy(w.meter.before, w.net.parameters, w.run.n_parameters);
    return dropping ? loss_and_gradient(job, w, batch, want_loss, dropping, nullptr) : sum_of;
}

}  // namespace
}  // namespace pellucid::PELLUCID_ISA
