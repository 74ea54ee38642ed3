// The whole training loop of one network. Compiled once for each instruction set.
#include "isa/lbfgs.hpp"
#include "isa/measure.hpp"
#include "isa/network.hpp"
#include "isa/optimizers.hpp"
#include "isa/penalties.hpp"
#include "isa/rows.hpp"
#include "isa/schedules.hpp"
#include "isa/state.hpp"

namespace pellucid::PELLUCID_ISA {
namespace {

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
    const int64_t d_in = job.widths[0], d_out = job.widths[job.n_layers];
    w.net = plan_network(job, batch, arena);
    w.full_batch = batch == n;
    w.run = plan_run(job, w.net, w.full_batch ? 0 : n, arena);
    w.meter = plan_meter(job, w.net.n_parameters, arena);
    const int64_t group = group_rows_of(w.net), rows = w.full_batch ? n + largest_tile : group;
    const bool labelled = job.likelihood == Likelihood::categorical;
    w.x = arena.take<real>(rows * d_in);
    w.targets = arena.take<real>(labelled ? 0 : rows * d_out);
    w.labels = arena.take<int32_t>(labelled ? rows : 0);
    w.weights = arena.take<real>(job.training.weights ? rows : 0);
    w.x_one = arena.take<real>(group * d_in);
    w.targets_one = arena.take<real>(labelled ? 0 : group * d_out);
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
        if (vb == 4) visit.template operator()<4>(at, valid);
        else if (vb == 2) visit.template operator()<2>(at, valid);
        else visit.template operator()<1>(at, valid);
        at += R;
    }
}

// Calls visit.operator()<VB>(first row, valid rows, tiles) for one group of tiles of equal size
// after the other; only its last tile may hold fewer rows than it has room for.
template <class Visit>
PELLUCID_INLINE void for_groups(const Network& net, int64_t n, const Visit& visit) {
    if (net.group == 1)
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
        gather(rows.targets, job.widths[job.n_layers], selection, R, to.targets);
    if (rows.weights) gather(rows.weights, 1, selection, R, to.weights);
}

TileMemory packed_tile(const Job& job, const Workspace& w, int64_t first) {
    const bool labelled = job.likelihood == Likelihood::categorical;
    return {w.x + first * job.widths[0],
            labelled ? nullptr : w.targets + first * job.widths[job.n_layers],
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
            group.targets ? group.targets + first * job.widths[job.n_layers] : nullptr,
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
        if (want_loss)
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

// p is padded with zeros. Several sums: one would wait for itself at every addition (measured: a
// tenth of a network of 27,000 parameters whose losses are recorded at every third step).
bool all_finite(const real* p, int64_t n) {
    constexpr int K = 8;
    vf probes[K] = {};
    int64_t i = 0;
    for (; i + K * L <= n; i += K * L)
        for (int k = 0; k < K; ++k) probes[k] += load(p + i + k * L) * 0.0f;
    for (; i < n; i += L) probes[0] += load(p + i) * 0.0f;
    vf probe = probes[0];
    for (int k = 1; k < K; ++k) probe += probes[k];
    return sum(probe) == 0;
}

double held_out(const Job& job, const Workspace& w) {
    return job.validation.n ? mean_loss(job, w, job.validation) : __builtin_nan("");
}

void zero(real* x, int64_t n) {
    if (n) __builtin_memset(x, 0, sizeof(real) * size_t(n));
}

void start(const Job& job, Workspace& w) {
    Run& run = w.run;
    const int64_t p = padded(run.n_parameters);
    const Lbfgs& q = run.lbfgs;
    for (real* x : {w.net.parameters, w.net.gradient}) zero(x, p);
    for (real* x : {run.moments.first, run.moments.second}) zero(x, run.n_moments);
    for (real* x : {q.s, q.y}) zero(x, q.m * q.n);
    for (int64_t i = 0; i < q.m; ++i) q.sy[i] = 0;
    zero(w.net.lanes, w.net.n_lanes * L);
    copy(w.net.parameters, job.parameters, run.n_parameters);
    copy(run.snapshot, job.parameters, run.n_parameters);
    run.random = job.seed;
    run.plateau.rate = job.optimizer.learning_rate;
    run.next_row = job.training.n;
    for (int64_t i = 0; i < run.n_order; ++i) run.order[i] = int32_t(i);
    if (job.resume.counters) transfer(run, {Transfer::restore, job.resume});
    w.total_weight = total_weight(job, job.training, {nullptr, 0, int(job.training.n)});
    if (w.full_batch) pack(job, w);
    start_meter(job, w.meter);
}

Batch next_batch(const Job& job, Workspace& w) {
    const int64_t n = job.training.n, largest = batch_rows(job);
    if (w.full_batch) return {0, n, w.total_weight};
    Run& run = w.run;
    if (run.next_row >= n) {
        shuffle(run.order, n, run.random);
        run.next_row = 0;
    }
    const int64_t first = run.next_row, m = n - first < largest ? n - first : largest;
    run.next_row += m;
    return {first, m, total_weight(job, job.training, {run.order, first, int(m)})};
}

void add_record(const Job& job, Run& run, double loss, double validation) {
    job.recorded_steps[run.n_recorded] = run.step;
    job.losses[run.n_recorded] = loss;
    if (job.validation_losses) job.validation_losses[run.n_recorded] = validation;
    ++run.n_recorded;
}

// False where patience is at its end; that step is recorded by what ends the run.
bool record(const Job& job, Workspace& w, double loss) {
    Run& run = w.run;
    const double validation = held_out(job, w);
    if (!job.patience || run.best.improves(validation, run.step))
        copy(run.snapshot, w.net.parameters, run.n_parameters);
    else if (run.best.waited >= job.patience)
        return false;
    add_record(job, run, loss, validation);
    if (job.schedule.kind == ScheduleKind::plateau && run.step >= job.schedule.warmup)
        run.plateau.look(job.schedule, job.validation.n ? validation : loss);
    return true;
}

// The objective of L-BFGS, with its gradient; nan where it is not finite.
double objective(const Job& job, Workspace& w, bool measuring) {
    Lbfgs& q = w.run.lbfgs;
    const Batch batch = next_batch(job, w);
    const LossSum sum_of = step_gradient(job, w, batch, true, measuring);
    q.loss = mean(sum_of.loss, batch.total);
    if (!sum_of.finite()) return __builtin_nan("");
    return q.loss + penalize(job.optimizer.weight_decay, w.net.parameters, w.net.gradient, q.n);
}

struct Evaluated {
    Status status;  // anything but `finished` ends the run
    double loss;
};

Evaluated evaluate(const Job& job, Workspace& w, bool want_loss, bool measuring) {
    Lbfgs& q = w.run.lbfgs;
    if (q.m == 0) {
        const Batch batch = next_batch(job, w);
        const LossSum sum_of = step_gradient(job, w, batch, want_loss, measuring);
        return {sum_of.finite() ? Status::finished : Status::diverged,
                mean(sum_of.loss, batch.total)};
    }
    if (!q.known || measuring) q.objective = objective(job, w, measuring);
    q.known = true;
    if (!(q.objective - q.objective == 0)) return {Status::diverged, q.objective};
    const bool flat = largest_size(w.net.gradient, q.n) <= flat_gradient;
    return {flat ? Status::converged : Status::finished, q.loss};
}

// From a gradient to the next parameters.
Status move(const Job& job, Workspace& w) {
    Run& run = w.run;
    real *parameters = w.net.parameters, *gradient = w.net.gradient;
    if (run.lbfgs.m) {
        const bool lower = lbfgs_step(run.lbfgs, job.optimizer.learning_rate, parameters, gradient,
                                      [&] { return objective(job, w, false); });
        return lower ? Status::finished : Status::converged;
    }
    const int64_t p = run.moments.n;
    if (job.l1 > 0) add_l1(real(job.l1), parameters, gradient, p);
    if (job.clip_norm > 0) clip(job.clip_norm, gradient, p);
    update(job.optimizer, learning_rate(job, run.step, run.plateau.rate), run.moments);
    return Status::finished;
}

// From the batch to the update. Anything but `finished` ends the run.
Status one_step(const Job& job, Workspace& w) {
    Run& run = w.run;
    if (__atomic_load_n(job.stop, __ATOMIC_RELAXED)) return Status::interrupted;
    const bool recording = run.step % job.record_every == 0;
    const bool measuring = w.meter.every && run.step % w.meter.every == 0;
    const Evaluated at = evaluate(job, w, recording, measuring);
    if (at.status != Status::finished) return at.status;
    if (recording && !all_finite(w.net.parameters, run.n_parameters)) return Status::diverged;
    if (recording && !record(job, w, at.loss)) return Status::stopped_early;
    const Status status = move(job, w);
    if (measuring) {
        measure_update(job, w.net, w.meter, run.n_measured);
        job.measures.steps[run.n_measured++] = run.step;
    }
    ++run.step;
    return status;
}

// The last record, and the parameters that come back. An interrupted run may go on, so it has not
// diverged, whatever its parameters are by now.
Outcome finish(const Job& job, Workspace& w, Status status) {
    Run& run = w.run;
    if (status == Status::interrupted && job.pause.counters)
        transfer(run, {Transfer::save, job.pause});
    double loss = __builtin_nan("");
    if (status != Status::diverged) loss = mean_loss(job, w, job.training);
    const bool fine = loss - loss == 0 && all_finite(w.net.parameters, run.n_parameters);
    if (!fine && status != Status::interrupted) status = Status::diverged;
    const double validation = fine ? held_out(job, w) : __builtin_nan("");
    add_record(job, run, fine ? loss : __builtin_nan(""), validation);
    const bool last = fine && (!job.patience || run.best.improves(validation, run.step) ||
                               run.best.step < 0);
    copy(job.parameters, last ? w.net.parameters : run.snapshot, run.n_parameters);
    return {status, run.step, run.n_recorded, run.n_measured, run.best.step};
}

Outcome train(const Job& job, void* memory) {
    const FlushSubnormals flush;
    Arena arena{static_cast<char*>(memory)};
    Workspace w = plan(job, arena);
    start(job, w);
    Status status = Status::finished;
    while (status == Status::finished && w.run.step < job.steps) {
        status = one_step(job, w);
        __atomic_store_n(job.progress, w.run.step, __ATOMIC_RELAXED);
    }
    return finish(job, w, status);
}

StateSize state_size(const Job& job) {
    Arena arena{nullptr};
    Run run = plan(job, arena).run;
    return transfer(run, {Transfer::count, {}});
}

size_t workspace_bytes(const Job& job) {
    Arena arena{nullptr};
    plan(job, arena);
    return arena.used;
}

// Calls f on blocks of L numbers, so that any n will do.
template <class F>
void in_blocks(const real* x, int64_t n, const F& f) {
    for (int64_t i = 0; i < n; i += L) {
        const int m = n - i < L ? int(n - i) : L;
        alignas(64) real in[L] = {};
        for (int k = 0; k < m; ++k) in[k] = x[i + k];
        f(i, m, in);
    }
}

vf function(Function f, vf x) {
    switch (f) {
        case Function::exp: return exp(x);
        case Function::expm1: return expm1(x);
        case Function::log: return log(x);
        case Function::log1p: return log1p(x);
        case Function::tanh: return tanh(x);
        case Function::erf: return erf(x, exp(-x * x));
        case Function::square_root: return square_root(x);
        case Function::count: break;
    }
    return x;
}

void apply(Function f, const real* x, real* out, int64_t n) {
    const FlushSubnormals flush;
    in_blocks(x, n, [&](int64_t i, int m, const real* in) {
        const vf y = function(f, load(in));
        for (int k = 0; k < m; ++k) out[i + k] = y[k];
    });
}

void activate_any(const HiddenLayer& layer, const real* z, real* value, real* slope,
                  int64_t n) {
    const FlushSubnormals flush;
    in_blocks(z, n, [&](int64_t i, int m, const real* in) {
        alignas(64) real v[L], s[L];
        activate(layer, in, v, s, L);
        for (int k = 0; k < m; ++k) value[i + k] = v[k], slope[i + k] = s[k];
    });
}

double rate_of_step(const Job& job, int64_t step) {
    return learning_rate(job, step, job.optimizer.learning_rate);
}

}  // namespace

extern const Kernel kernel;
const Kernel kernel{PELLUCID_ISA_NAME, workspace_bytes, state_size, train,
                    rate_of_step,      apply,           activate_any};

}  // namespace pellucid::PELLUCID_ISA
