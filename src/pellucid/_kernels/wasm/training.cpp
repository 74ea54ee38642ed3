// One run of training, taken in portions: what the page steps, pauses, edits, saves and loads.
#include <cstring>

#include "abi.hpp"

namespace pellucid {

namespace baseline { extern const Kernel<float> kernel; }

namespace {

constexpr int64_t FOREVER = int64_t(1) << 53;
constexpr int64_t PORTION = 1 << 20;  // steps at most, and records

// What a step leaves for the next, in arrays of its own.
struct Kept {
    std::vector<float> numbers;
    std::vector<int32_t> order;
    std::vector<int64_t> counters;
    std::vector<double> scalars;

    void resize(const StateSize& size) {
        numbers.resize(size_t(size.numbers)), order.resize(size_t(size.order));
        counters.resize(size_t(size.counters)), scalars.resize(size_t(size.scalars));
    }
    State<float> plain() {
        return {numbers.data(), order.data(), counters.data(), scalars.data()};
    }
    int64_t step() const { return counters[0]; }
    int64_t next_row() const { return counters[1]; }
    // Records are taken out after every portion.
    void forget_records() { counters[2] = counters[3] = 0; }
};

// Tells JavaScript how a portion went, as doubles.
struct Report {
    double step, status, diverged_at, training_loss, validation_loss, n_records, measured;
};

struct Session {
    Net net;
    Table<float> training, validation;
    std::vector<float> parameters;
    Job<float> job{};
    Memory workspace;
    Kept now, next;
    bool begun = false;
    int32_t stop = 0;
    int64_t progress = 0;
    std::vector<int64_t> steps, measured_steps;
    std::vector<double> record_steps, losses, validation_losses;
    std::vector<double> measures[4];
    Report report{};

    bool read_settings(Description& from);
    bool begin();
    bool advance(int64_t n);
    Outcome run(Kept& into, int64_t until);
    void room_for(int64_t n);
};

Session* session = nullptr;

bool in(double x, double low, double high) { return x >= low && x < high; }

bool Session::read_settings(Description& from) {
    const int32_t optimizer = from.whole(), nesterov = from.whole(), schedule = from.whole();
    if (!need(optimizer >= 0 && optimizer < int32_t(Optimizer::count) && schedule >= 0 &&
                  schedule < int32_t(ScheduleKind::count), "the optimizer or the schedule is unknown"))
        return false;
    OptimizerSettings& o = job.optimizer;
    o.kind = Optimizer(optimizer), o.nesterov = nesterov != 0;
    for (double* x : {&o.learning_rate, &o.momentum, &o.alpha, &o.beta1, &o.beta2, &o.epsilon,
                      &o.weight_decay})
        *x = from.number();
    o.history_size = from.count();
    Schedule& s = job.schedule;
    s.kind = ScheduleKind(schedule);
    for (int64_t* x : {&s.warmup, &s.step_size, &s.plateau_patience}) *x = from.count();
    for (double* x : {&s.gamma, &s.eta_min, &s.pct_start, &s.div_factor, &s.final_div_factor})
        *x = from.number();
    job.dropout = from.number(), job.l1 = from.number(), job.clip_norm = from.number();
    job.label_smoothing = from.number();
    job.steps = from.count(), job.batch_size = from.count(), job.record_every = from.count();
    const uint64_t low = uint64_t(from.count()), high = uint64_t(from.count());
    job.seed = high << 32 | low;
    const double largest = 1e300;
    const bool numbers =
        in(o.learning_rate, 0, largest) && in(o.momentum, 0, largest) && in(o.alpha, 0, 1) &&
        in(o.beta1, 0, 1) && in(o.beta2, 0, 1) && in(o.epsilon, 0, largest) &&
        in(o.weight_decay, 0, largest) && in(s.gamma, 0, largest) && in(s.eta_min, 0, largest) &&
        s.pct_start >= 0 && s.pct_start <= 1 && in(s.div_factor, 1, largest) &&
        in(s.final_div_factor, 1, largest) && in(job.dropout, 0, 1) && in(job.l1, 0, largest) &&
        in(job.clip_norm, 0, largest) && in(job.label_smoothing, 0, 1);
    const bool lbfgs = o.kind == Optimizer::lbfgs;
    return need(from.fine() && numbers, "a setting of the training is out of range") &&
           need(o.history_size >= 1 && o.history_size <= 1000, "history_size is not from 1 to 1000") &&
           need(s.kind != ScheduleKind::step || s.step_size >= 1, "the schedule step needs a step_size") &&
           need(job.record_every >= 1, "record_every is not 1 or more") &&
           need(!o.nesterov || o.momentum > 0, "nesterov needs a momentum above 0") &&
           need(job.label_smoothing == 0 || net.likelihood == Likelihood::categorical,
                "label_smoothing is for the categorical likelihood") &&
           need(!lbfgs || (job.dropout == 0 && job.l1 == 0 && job.clip_norm == 0 && s.warmup == 0 &&
                           s.kind == ScheduleKind::constant &&
                           (job.batch_size == 0 || job.batch_size >= training.n)),
                "lbfgs takes all rows at every step, a constant rate, and neither dropout nor l1 nor "
                "clip_norm") &&
           need(!lbfgs || net.likelihood != Likelihood::mean_variance || net.likelihood_parameters[0] == 0,
                "lbfgs needs a gradient that is that of the loss; take mean_variance with beta 0");
}

bool Session::begin() {
    const Job<float> plain = net.job<float>();
    job.widths = plain.widths, job.n_layers = plain.n_layers, job.hidden = plain.hidden;
    job.likelihood = plain.likelihood, job.likelihood_parameters = plain.likelihood_parameters;
    job.n_likelihood_parameters = plain.n_likelihood_parameters;
    job.training = training.rows();
    if (validation.n) job.validation = validation.rows();
    if (job.steps == 0) job.steps = FOREVER;
    job.parameters = parameters.data();
    job.stop = &stop, job.progress = &progress;
    job.measures.every = 1;  // its place in the workspace; advance() sets the step
    const int64_t bytes = int64_t(baseline::kernel.workspace_bytes(job));
    const StateSize size = baseline::kernel.state_size(job);
    if (!need(bytes + 12 * size.numbers <= MOST_BYTES,
              "this run takes more memory than a page should; take fewer rows, narrower layers or a "
              "smaller history_size"))
        return false;
    now.resize(size), next.resize(size);
    const size_t layers = size_t(job.n_layers);
    for (size_t i = 0; i < 4; ++i) measures[i].assign(2 * (i < 2 ? layers : layers - 1) + 1, 0);
    measured_steps.assign(2, 0);
    job.measures = {1, measured_steps.data(), measures[0].data(), measures[1].data(),
                    measures[2].data(), measures[3].data()};
    return workspace.take(size_t(bytes));
}

// Room for the records of n steps and the one at the end.
void Session::room_for(int64_t n) {
    const size_t records = size_t(n / job.record_every + 3);
    if (steps.size() < records) {
        steps.resize(records), record_steps.resize(records), losses.resize(records);
        validation_losses.resize(records);
    }
    job.recorded_steps = steps.data(), job.losses = losses.data();
    job.validation_losses = validation.n ? validation_losses.data() : nullptr;
}

Outcome Session::run(Kept& into, int64_t until) {
    job.resume = begun ? now.plain() : State<float>{};
    job.pause = into.plain();
    job.pause_at = until;
    stop = until == 0;  // look, without a step
    // The last step alone (and step 0) is measured.
    job.measures.every = until > 1 ? until - 1 : 1;
    return baseline::kernel.train(job, workspace.data);
}

bool Session::advance(int64_t n) {
    const int64_t at = begun ? now.step() : 0;
    if (!need(n >= 0 && n <= PORTION, "too many steps at once")) return false;
    const int64_t until = at + n < job.steps ? at + n : job.steps;
    room_for(n);
    const Outcome out = run(next, until > at || at > 0 ? until : 0);
    const int64_t last = out.n_recorded - 1;  // of now, over all rows
    const double loss = losses[size_t(last)];
    const bool fine = out.status != Status::diverged && loss - loss == 0;
    report.diverged_at = fine ? -1 : double(out.steps_done);
    report.status = double(fine ? int(out.status) : int(Status::diverged));
    // The last record is how things stand now; at the end of a run it is part of its history.
    const bool ended = fine && out.status != Status::interrupted;
    report.n_records = double(last + ended);
    for (int64_t i = 0; i < last + ended; ++i) record_steps[size_t(i)] = double(steps[size_t(i)]);
    report.measured = double(out.n_measured > 0);
    if (out.n_measured > 1)
        for (auto& of : measures) {
            const size_t half = of.size() / 2;
            std::memcpy(of.data(), of.data() + half, half * sizeof(double));
        }
    if (fine) {
        std::swap(now, next);
        now.forget_records();
        begun = true;
        report.training_loss = loss;
        report.validation_loss = validation.n ? validation_losses[size_t(last)] : __builtin_nan("");
    }
    report.step = begun ? double(now.step()) : 0;
    return true;
}

bool is_permutation(const std::vector<int32_t>& order) {
    std::vector<bool> seen(order.size());
    for (const int32_t i : order) {
        if (i < 0 || size_t(i) >= order.size() || seen[size_t(i)]) return false;
        seen[size_t(i)] = true;
    }
    return true;
}

// Numbers that could lead the kernel astray.
bool is_sound(const Kept& kept, int64_t rows) {
    for (const float x : kept.numbers)
        if (!(x - x == 0)) return false;
    const auto& c = kept.counters;
    return c[0] >= 0 && c[0] <= FOREVER && c[1] >= 0 && c[1] <= rows && c[2] == 0 && c[3] == 0 &&
           c[8] >= 0 && c[8] <= FOREVER && is_permutation(kept.order);
}

constexpr size_t RATE = 3;  // among the scalars of isa/state.hpp

constexpr int32_t MAGIC = 0x54534c50;  // "PLST"

struct StateHead {
    int32_t magic, version;
    int64_t numbers, order, counters, scalars;
};

StateHead head_of(const Kept& kept) {
    return {MAGIC, 1, int64_t(kept.numbers.size()), int64_t(kept.order.size()),
            int64_t(kept.counters.size()), int64_t(kept.scalars.size())};
}

int64_t state_bytes(const StateHead& head) {
    return int64_t(sizeof head) + 4 * head.numbers + 4 * head.order + 8 * head.counters +
           8 * head.scalars;
}

// Calls copy(array, bytes) for one array after the other.
template <class Copy>
void each_array(Kept& kept, const Copy& copy) {
    copy(kept.counters.data(), 8 * kept.counters.size());
    copy(kept.scalars.data(), 8 * kept.scalars.size());
    copy(kept.numbers.data(), 4 * kept.numbers.size());
    copy(kept.order.data(), 4 * kept.order.size());
}

bool restore(const char* from, int64_t bytes) {
    StateHead head;
    const StateHead mine = head_of(session->next);
    if (!need(bytes >= int64_t(sizeof head), "the state is no saved state of a run")) return false;
    std::memcpy(&head, from, sizeof head);
    if (!need(std::memcmp(&head, &mine, sizeof head) == 0 && bytes == state_bytes(mine),
              "the state belongs to a run of another shape: other widths, rows, batches or optimizer"))
        return false;
    from += sizeof head;
    each_array(session->next, [&](void* to, size_t n) {
        std::memcpy(to, from, n);
        from += n;
    });
    if (!need(is_sound(session->next, session->training.n), "the state is damaged")) return false;
    // A rate that no plateau has lowered is the setting, which may be another one now.
    if (session->job.schedule.kind != ScheduleKind::plateau)
        session->next.scalars[RATE] = session->job.optimizer.learning_rate;
    std::swap(session->now, session->next);
    session->begun = true;
    return true;
}

std::vector<char> saved;
std::vector<int32_t> batch_rows;
std::vector<float> batch_update;

}  // namespace
}  // namespace pellucid

using namespace pellucid;

// y and y_validation: int32 labels or float targets. state: null, or what state() gave.
PELLUCID_EXPORT("load")
int32_t load(const int32_t* whole, int32_t n_whole, const double* numbers, int32_t n_numbers,
             const float* X, const void* y, int32_t n, const float* X_validation,
             const void* y_validation, int32_t n_validation, const float* parameters,
             int32_t n_parameters, const char* state, int32_t state_bytes) {
    delete session;
    session = new Session;
    Session& s = *session;
    Description from(whole, n_whole, numbers, n_numbers);
    const bool fine = s.net.read(from) && s.training.read(s.net, X, y, n) &&
                      (n_validation == 0 || s.validation.read(s.net, X_validation, y_validation, n_validation)) &&
                      s.read_settings(from) &&
                      need(n_parameters == s.net.n_parameters(),
                           "the number of parameters does not belong to these widths");
    bool done = fine;
    if (done) {
        s.parameters.assign(parameters, parameters + n_parameters);
        for (const float p : s.parameters)
            done = done && need(p - p == 0, "a parameter is not a finite number");
    }
    done = done && s.begin() && (!state || restore(state, state_bytes)) && s.advance(0);
    if (done) return 0;
    delete session;
    session = nullptr;
    return -1;
}

PELLUCID_EXPORT("advance") int32_t advance(double n) {
    if (!need(session, "no run is loaded")) return -1;
    return session->advance(int64_t(n)) ? 0 : -1;
}

// Addresses of what the last portion left: report, parameters, records (3), measures (4).
PELLUCID_EXPORT("results") const int32_t* results() {
    static int32_t at[9];
    if (!session) return nullptr;
    Session& s = *session;
    at[0] = address(&s.report);
    at[1] = address(s.begun ? s.now.numbers.data() : s.parameters.data());
    at[2] = address(s.record_steps.data()), at[3] = address(s.losses.data());
    at[4] = address(s.validation_losses.data());
    for (int i = 0; i < 4; ++i) at[5 + i] = address(s.measures[i].data());
    return at;
}

PELLUCID_EXPORT("edit") int32_t edit(const float* parameters, int32_t n) {
    if (!need(session && session->begun, "no run is loaded")) return -1;
    Session& s = *session;
    if (!need(n == s.net.n_parameters(), "the number of parameters does not belong to this run"))
        return -1;
    for (int32_t i = 0; i < n; ++i)
        if (!need(parameters[i] - parameters[i] == 0, "a parameter is not a finite number")) return -1;
    // Parameters, and those to come back to, are the first of the state's numbers.
    for (int copy = 0; copy < 2; ++copy)
        std::memcpy(s.now.numbers.data() + int64_t(copy) * n, parameters, size_t(n) * sizeof(float));
    return s.advance(0) ? 0 : -1;
}

// The state as bytes; `saved_state` says where, and this returns how many.
PELLUCID_EXPORT("save") int32_t save() {
    if (!need(session && session->begun, "no run is loaded")) return -1;
    const StateHead head = head_of(session->now);
    saved.resize(size_t(state_bytes(head)));
    char* to = saved.data();
    std::memcpy(to, &head, sizeof head);
    to += sizeof head;
    each_array(session->now, [&](const void* from, size_t n) {
        std::memcpy(to, from, n);
        to += n;
    });
    return int32_t(saved.size());
}

PELLUCID_EXPORT("saved_state") const char* saved_state() { return saved.data(); }

// The step that comes next, on the side: how many rows it takes, or -1.
PELLUCID_EXPORT("look_ahead") int32_t look_ahead() {
    if (!need(session && session->begun, "no run is loaded")) return -1;
    Session& s = *session;
    const int64_t at = s.now.step(), p = s.net.n_parameters(), n = s.training.n;
    if (!need(at < s.job.steps, "the run has ended; no step comes next")) return -1;
    s.room_for(1);
    const Outcome out = s.run(s.next, at + 1);
    if (!need(out.status != Status::diverged && out.steps_done == at + 1, "the next step leads nowhere"))
        return -1;
    batch_update.resize(size_t(p));
    for (size_t i = 0; i < size_t(p); ++i) batch_update[i] = s.next.numbers[i] - s.now.numbers[i];
    batch_rows.clear();
    if (s.next.order.empty()) {
        for (int64_t i = 0; i < n; ++i) batch_rows.push_back(int32_t(i));
    } else {
        const int64_t first = s.now.next_row() >= n ? 0 : s.now.next_row();
        for (int64_t i = first; i < s.next.next_row(); ++i) batch_rows.push_back(s.next.order[size_t(i)]);
    }
    return int32_t(batch_rows.size());
}

PELLUCID_EXPORT("batch_rows") const int32_t* rows_of_batch() { return batch_rows.data(); }
PELLUCID_EXPORT("batch_update") const float* update_of_batch() { return batch_update.data(); }
