// The whole training loop of one network. Compiled once for each instruction set.
#include "isa/network.hpp"
#include "isa/optimizers.hpp"
#include "isa/penalties.hpp"
#include "isa/rows.hpp"
#include "isa/schedules.hpp"

namespace pellucid::PELLUCID_ISA {
namespace {

struct Workspace {
    Network net;
    Moments moments;
    real* snapshot;   // the last recorded finite parameters; under patience the best
    int32_t* order;    // the permutation of minibatches
    bool full_batch;
    // Tiles: all rows packed (full batch) or the one that was gathered last.
    real *x, *targets, *weights;
    int32_t* labels;
    // One tile for evaluation.
    real *x_one, *targets_one, *weights_one;
    int32_t* labels_one;
    double total_weight;  // of all training rows
};

int64_t batch_rows(const Job& job) {
    const int64_t n = job.training.n;
    return job.batch_size == 0 || job.batch_size > n ? n : job.batch_size;
}

Workspace plan(const Job& job, Arena& arena) {
    Workspace w{};
    const int64_t batch = batch_rows(job), n = job.training.n;
    const int64_t d_in = job.widths[0], d_out = job.widths[job.n_layers];
    w.net = plan_network(job, batch, arena);
    w.full_batch = batch == n;
    const int64_t p = padded(w.net.n_parameters);
    w.moments.parameters = w.net.parameters;
    w.moments.gradient = w.net.gradient;
    w.moments.first = arena.take<real>(p);
    w.moments.second = arena.take<real>(p);
    w.moments.n = p;
    w.moments.beta1_power = w.moments.beta2_power = 1;
    w.snapshot = arena.take<real>(p);
    w.order = arena.take<int32_t>(w.full_batch ? 0 : n);
    const int64_t rows = w.full_batch ? n + largest_tile : largest_tile;
    const bool labelled = job.likelihood == Likelihood::categorical;
    w.x = arena.take<real>(rows * d_in);
    w.targets = arena.take<real>(labelled ? 0 : rows * d_out);
    w.labels = arena.take<int32_t>(labelled ? rows : 0);
    w.weights = arena.take<real>(job.training.weights ? rows : 0);
    w.x_one = arena.take<real>(largest_tile * d_in);
    w.targets_one = arena.take<real>(labelled ? 0 : largest_tile * d_out);
    w.labels_one = arena.take<int32_t>(labelled ? largest_tile : 0);
    w.weights_one = arena.take<real>(largest_tile);
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

template <int VB>
PELLUCID_INLINE void tile_losses(const Network& net, const TileMemory& tile, int valid,
                                 real weight, bool want_loss, LossSum& sum_of) {
    const Layer& last = net.layers[net.n_layers - 1];
    const Targets y{tile.labels, tile.targets, tile.weights, valid};
    if (want_loss)
        losses<VB, true>(net.likelihood, net.softening, last.h, last.n_out, y, weight, last.h, sum_of);
    else
        losses<VB, false>(net.likelihood, net.softening, last.h, last.n_out, y, weight, last.h, sum_of);
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
    const TileMemory tile{w.x_one, w.targets_one, w.labels_one,
                          rows.weights ? w.weights_one : nullptr};
    for_tiles(w.net.largest_vb, rows.n, [&]<int VB>(int64_t first, int valid) {
        fill(job, rows, {nullptr, first, valid}, VB * L, tile);
        forward_pass<VB>(w.net, tile.x);
        tile_losses<VB>(w.net, tile, valid, 0.0f, true, sum_of);
    });
    const double total = total_weight(job, rows, {nullptr, 0, int(rows.n)});
    return sum_of.finite() ? mean(sum_of.loss, total) : __builtin_nan("");
}

// Loss and gradient over the rows order[first] .. order[first + m - 1] of this total weight.
LossSum loss_and_gradient(const Job& job, const Workspace& w, int64_t first, int64_t m,
                          double total, int64_t step, bool want_loss) {
    LossSum sum_of;
    const Dropout dropout{job.seed, step, job.dropout};
    const Dropout* dropping = job.dropout > 0 ? &dropout : nullptr;
    const real weight = total > 0 ? 1.0f / real(total) : 0.0f;
    clear_gradient(w.net);
    for_tiles(w.net.largest_vb, m, [&]<int VB>(int64_t at, int valid) {
        TileMemory tile{w.x, w.targets, w.labels, job.training.weights ? w.weights : nullptr};
        if (w.full_batch)
            tile = packed_tile(job, w, at);
        else
            fill(job, job.training, {w.order, first + at, valid}, VB * L, tile);
        forward_pass<VB>(w.net, tile.x, dropping, at);
        tile_losses<VB>(w.net, tile, valid, weight, want_loss, sum_of);
        backward_pass<VB>(w.net, tile.x);
    });
    collect_gradient(w.net);
    return sum_of;
}

bool all_finite(const real* p, int64_t n) {
    real probe = 0;
    for (int64_t i = 0; i < n; ++i) probe += p[i] * 0.0f;
    return probe == 0.0f;
}

void copy(real* to, const real* from, int64_t n) {
    __builtin_memcpy(to, from, sizeof(real) * size_t(n));
}

struct Recorder {
    const Job& job;
    int64_t n = 0;

    void add(int64_t step, double loss, double validation) {
        job.recorded_steps[n] = step;
        job.losses[n] = loss;
        if (job.validation_losses) job.validation_losses[n] = validation;
        ++n;
    }
};

// The lowest validation loss so far; nan is never lower.
struct Best {
    double loss = __builtin_inf();
    int64_t step = -1, waited = 0;

    bool improves(double validation, int64_t at) {
        ++waited;
        if (!(validation < loss)) return false;
        loss = validation, step = at, waited = 0;
        return true;
    }
};

double held_out(const Job& job, const Workspace& w) {
    return job.validation.n ? mean_loss(job, w, job.validation) : __builtin_nan("");
}

void start(const Job& job, Workspace& w) {
    const int64_t p = padded(w.net.n_parameters);
    for (real* zero : {w.net.parameters, w.net.gradient, w.moments.first, w.moments.second})
        __builtin_memset(zero, 0, sizeof(real) * size_t(p));
    __builtin_memset(w.net.lanes, 0, sizeof(real) * size_t(w.net.n_lanes * L));
    copy(w.net.parameters, job.parameters, w.net.n_parameters);
    w.total_weight = total_weight(job, job.training, {nullptr, 0, int(job.training.n)});
    copy(w.snapshot, job.parameters, w.net.n_parameters);
    if (w.full_batch)
        pack(job, w);
    else
        for (int64_t i = 0; i < job.training.n; ++i) w.order[i] = int32_t(i);
}

Outcome train(const Job& job, void* memory) {
    const FlushSubnormals flush;
    Arena arena{static_cast<char*>(memory)};
    Workspace w = plan(job, arena);
    start(job, w);
    const int64_t n = job.training.n, batch = batch_rows(job), p = w.net.n_parameters;
    uint64_t random = job.seed;
    int64_t step = 0, next_row = n;
    Recorder record{job};
    Best best;
    Status status = Status::finished;
    for (; step < job.steps; ++step) {
        if (__atomic_load_n(job.stop, __ATOMIC_RELAXED)) {
            status = Status::interrupted;
            break;
        }
        if (w.full_batch || next_row >= n) {
            if (!w.full_batch) shuffle(w.order, n, random);
            next_row = 0;
        }
        const int64_t m = n - next_row < batch ? n - next_row : batch;
        const bool recording = step % job.record_every == 0;
        const double total =
            w.full_batch ? w.total_weight
                         : total_weight(job, job.training, {w.order, next_row, int(m)});
        const LossSum sum_of = loss_and_gradient(job, w, next_row, m, total, step, recording);
        next_row += m;
        if (!sum_of.finite() || (recording && !all_finite(w.net.parameters, p))) {
            status = Status::diverged;
            break;
        }
        if (recording) {
            const double validation = held_out(job, w);
            if (!job.patience || best.improves(validation, step)) {
                copy(w.snapshot, w.net.parameters, p);
            } else if (best.waited >= job.patience) {
                status = Status::stopped_early;  // what ends a run records this step
                break;
            }
            record.add(step, mean(sum_of.loss, total), validation);
        }
        if (job.l1 > 0) add_l1(real(job.l1), w.net.parameters, w.net.gradient, padded(p));
        if (job.clip_norm > 0) clip(job.clip_norm, w.net.gradient, padded(p));
        update(job.optimizer, learning_rate(job, step), w.moments);
        __atomic_store_n(job.progress, step + 1, __ATOMIC_RELAXED);
    }
    double loss = __builtin_nan("");
    if (status != Status::diverged) {
        loss = mean_loss(job, w, job.training);
        if (!(loss - loss == 0) || !all_finite(w.net.parameters, p)) status = Status::diverged;
    }
    if (status == Status::diverged) {
        record.add(step, __builtin_nan(""), __builtin_nan(""));
        copy(job.parameters, w.snapshot, p);
    } else {
        const double validation = held_out(job, w);
        record.add(step, loss, validation);
        const bool last = !job.patience || best.improves(validation, step) || best.step < 0;
        copy(job.parameters, last ? w.net.parameters : w.snapshot, p);
    }
    return {status, step, record.n, best.step};
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

}  // namespace

extern const Kernel kernel;
const Kernel kernel{PELLUCID_ISA_NAME, workspace_bytes, train, learning_rate, apply, activate_any};

}  // namespace pellucid::PELLUCID_ISA
