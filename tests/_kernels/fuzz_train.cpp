// Trains random networks on exactly sized arrays, for the sanitizers: tools/sanitize.sh builds and
// runs it (make sanitize).  usage: fuzz SECONDS SEED
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "train.hpp"

using real = PELLUCID_REAL;

namespace pellucid::PELLUCID_ISA { extern const Kernel<real> kernel; }

using namespace pellucid;

namespace {

std::mt19937_64 random_bits;

int pick(int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random_bits);
}

real normal() { return std::normal_distribution<real>()(random_bits); }

// Exactly n elements, each in a block of its own, so that one step beyond is seen.
template <class T>
std::vector<T> exactly(size_t n) {
    std::vector<T> v;
    v.reserve(n);
    v.resize(n);
    return v;
}

struct Data {
    std::vector<real> X, targets;
    std::vector<int32_t> labels;
    std::vector<real> weights;
    int n;

    // columns of targets, or labels below classes where there are any
    Data(int n, int d_in, int columns, int classes)
        : X(exactly<real>(size_t(n) * d_in)),
          targets(exactly<real>(classes ? 0 : size_t(n) * columns)),
          labels(exactly<int32_t>(classes ? n : 0)),
          weights(exactly<real>(pick(0, 2) ? 0 : size_t(n))), n(n) {
        for (real& u : weights) u = real(pick(0, 2));
        for (real& x : X) x = normal();
        for (real& y : targets) y = real(pick(0, 1));
        for (int32_t& y : labels) y = pick(0, classes - 1);
    }

    Rows<real> rows() const {
        return {X.data(), labels.empty() ? nullptr : labels.data(),
                labels.empty() ? targets.data() : nullptr, n,
                weights.empty() ? nullptr : weights.data()};
    }
};

// Now and then two neighbours are so wide that tiles share panels of their weights.
int width() {
    const int kind = pick(0, 99);
    return kind < 88 ? pick(1, 40) : kind < 97 ? pick(1, 300) : pick(300, 700);
}

// What one call writes.
struct Written {
    std::vector<real> parameters;
    std::vector<int64_t> steps;
    std::vector<double> losses, held_out;
    std::vector<int64_t> measured_steps;
    std::vector<double> gradient_norm, update_ratio, dead, saturated;
    Outcome outcome;

    bool operator==(const Written& other) const {
        return bits(parameters) == bits(other.parameters) && bits(steps) == bits(other.steps) &&
               bits(losses) == bits(other.losses) && bits(held_out) == bits(other.held_out) &&
               bits(measured_steps) == bits(other.measured_steps) &&
               bits(gradient_norm) == bits(other.gradient_norm) &&
               bits(update_ratio) == bits(other.update_ratio) &&
               bits(dead) == bits(other.dead) && bits(saturated) == bits(other.saturated) &&
               outcome.status == other.outcome.status &&
               outcome.steps_done == other.outcome.steps_done &&
               outcome.best_step == other.outcome.best_step;
    }

    template <class T>
    static std::string bits(const std::vector<T>& v) {
        return {reinterpret_cast<const char*>(v.data()), v.size() * sizeof(T)};
    }
};

struct Saved {
    std::vector<real> numbers;
    std::vector<int32_t> order;
    std::vector<int64_t> counters;
    std::vector<double> scalars;

    explicit Saved(const StateSize& size)
        : numbers(exactly<real>(size_t(size.numbers))), order(exactly<int32_t>(size_t(size.order))),
          counters(exactly<int64_t>(size_t(size.counters))),
          scalars(exactly<double>(size_t(size.scalars))) {}

    State<real> plain() {
        return {numbers.data(), order.data(), counters.data(), scalars.data()};
    }
};

// Points the job at what it writes and runs it, in memory where nothing may be used before it is
// written.
void run(Job<real> job, Written& to) {
    job.parameters = to.parameters.data();
    job.recorded_steps = to.steps.data();
    job.losses = to.losses.data();
    job.validation_losses = job.validation.n ? to.held_out.data() : nullptr;
    job.measures = {job.measures.every,       to.measured_steps.data(), to.gradient_norm.data(),
                    to.update_ratio.data(), to.dead.data(),           to.saturated.data()};
    const size_t size = PELLUCID_ISA::kernel.workspace_bytes(job);
    void* memory = std::aligned_alloc(64, (size + 63) / 64 * 64);
    std::memset(memory, 0xff, size);  // nan
    to.outcome = PELLUCID_ISA::kernel.train(job, memory);
    std::free(memory);
}

bool makes_sense(const Written& written) {
    const Outcome& o = written.outcome;
    if (o.n_recorded < 1 || o.n_recorded > int64_t(written.losses.size())) return false;
    const bool finite = std::isfinite(written.losses[size_t(o.n_recorded) - 1]);
    if (finite ? o.status == Status::diverged
               : o.status != Status::diverged && o.status != Status::interrupted) return false;
    for (real w : written.parameters)
        if (!std::isfinite(w)) return false;
    return true;
}

// Twice the same, and the same again where every step but the last is an interrupted run.
bool fits(Job<real> job, const std::vector<real>& start) {
    const size_t records = size_t((job.steps + job.record_every - 1) / job.record_every + 1);
    const int64_t every = job.measures.every;
    const size_t rows = every ? size_t((job.steps + every - 1) / every) : 0;
    const size_t layers = rows * size_t(job.n_layers), hidden = layers - rows;
    const Written blank{start, exactly<int64_t>(records), exactly<double>(records),
                        exactly<double>(records), exactly<int64_t>(rows),
                        exactly<double>(layers), exactly<double>(layers),
                        exactly<double>(hidden), exactly<double>(hidden), {}};
    const int32_t never = 0;
    int64_t progress = 0;
    job.stop = &never;
    job.progress = &progress;
    Written first = blank, second = blank, third = blank;
    run(job, first);
    run(job, second);
    if (!makes_sense(first) || !(first == second)) return false;

    const StateSize size = PELLUCID_ISA::kernel.state_size(job);
    Saved before(size), after(size);
    job.stop = reinterpret_cast<const int32_t*>(&progress);  // after one step
    for (;;) {
        progress = 0;
        job.pause = after.plain();
        run(job, third);
        if (!makes_sense(third)) return false;
        if (third.outcome.status != Status::interrupted) break;
        // The last record is none of the uninterrupted run's.
        const size_t extra = size_t(third.outcome.n_recorded) - 1;
        third.steps[extra] = 0, third.losses[extra] = third.held_out[extra] = 0;
        before = after;
        job.resume = before.plain();
    }
    return first == third;
}

std::vector<double> parameters_of(Likelihood likelihood) {
    switch (likelihood) {
        case Likelihood::mean_variance: return {pick(0, 1) * 0.5, 1e-3};
        case Likelihood::laplace: return {1e-3};
        case Likelihood::student_t: return {pick(0, 1) * 4.0, 1e-3};
        case Likelihood::quantile: return std::vector<double>(size_t(pick(1, 9)), 0.3);
        case Likelihood::mixture: return {double(pick(1, 9)), 1e-3};
        default: return {};
    }
}

bool one_network() {
    const int depth = pick(0, 8);
    const auto likelihood = Likelihood(pick(0, int(Likelihood::count) - 1));
    const std::vector<double> head = parameters_of(likelihood);
    const int each = outputs_per_target(likelihood, head.data(), int(head.size()));
    std::vector<int32_t> widths{width()};
    std::vector<HiddenLayer> hidden;
    size_t p = 0;
    for (int l = 0; l <= depth; ++l) {
        const int w = width();
        widths.push_back(l < depth ? w : (w + each - 1) / each * each);
        p += (size_t(widths[l]) + 1) * widths[l + 1];
        if (l < depth) {
            const auto kind = Activation(pick(0, int(Activation::count) - 1));
            hidden.push_back({kind, pick(0, 3) ? 0.1f : -1.0f, 1.0f});
        }
    }
    const bool labelled = likelihood == Likelihood::categorical;
    const int columns = widths.back() / each;
    const int classes =
        takes_labels(likelihood) ? columns + (likelihood == Likelihood::ordinal) : 0;
    const Data training(pick(1, 300), widths[0], columns, classes);
    const Data validation(pick(1, 70), widths[0], columns, classes);
    const bool validated = pick(0, 1);
    const real scale = pick(0, 30) ? 0.3 : sizeof(real) == 4 ? 1e20 : 1e160;
    auto start = exactly<real>(p);
    for (real& w : start) w = scale * normal();

    Job<real> job{};
    job.widths = widths.data();
    job.n_layers = depth + 1;
    job.hidden = hidden.data();
    job.likelihood = likelihood;
    job.likelihood_parameters = head.data();
    job.n_likelihood_parameters = int32_t(head.size());
    job.optimizer = {Optimizer(pick(0, int(Optimizer::count) - 1)), pick(0, 1) == 1,
                     pick(0, 20) ? 0.01 : 1e4, pick(0, 1) * 0.9, 0.99, 0.9, 0.999, 1e-8, pick(0, 1) * 0.01, pick(1, 4)};
    job.schedule = {ScheduleKind(pick(0, int(ScheduleKind::count) - 1)), pick(0, 8), pick(1, 3), pick(0, 2),
                    0.5, 0.0, 0.3, 25.0, 1e4};
    auto class_weights = exactly<real>(widths.back());
    for (real& w : class_weights) w = real(pick(0, 2));
    if (labelled && pick(0, 1)) job.class_weights = class_weights.data();
    if (labelled) job.label_smoothing = pick(0, 1) * 0.1;
    if (validated) job.patience = pick(0, 2);
    job.dropout = pick(0, 2) ? 0.0 : 0.3;
    job.l1 = pick(0, 1) * 0.01;
    job.clip_norm = pick(0, 1) * 0.5;
    job.steps = pick(0, 6);
    job.batch_size = pick(0, 1) ? pick(1, training.n) : 0;
    job.record_every = pick(1, 3);
    job.measures.every = pick(0, 3);
    if (likelihood == Likelihood::mean_variance && head[0] > 0 &&
        job.optimizer.kind == Optimizer::lbfgs)
        return true;  // refused: its gradient is not that of its loss
    if (job.optimizer.kind == Optimizer::lbfgs) job.dropout = 0, job.batch_size = 0;
    job.seed = random_bits();
    job.training = training.rows();
    if (validated) job.validation = validation.rows();
    return fits(job, start);
}

}  // namespace

int main(int argc, char** argv) {
    const double seconds = argc > 1 ? std::atof(argv[1]) : 60;
    const unsigned long seed = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 0;
    const auto start = std::chrono::steady_clock::now();
    long networks = 0;
    while (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() <
           seconds) {
        random_bits.seed(seed + (unsigned long)networks);
        if (!one_network()) {
            std::printf("network %lu is wrong\n", seed + (unsigned long)networks);
            return 1;
        }
        ++networks;
    }
    std::printf("%ld networks without a finding\n", networks);
}
