// The Python module pellucid._kernels._native: arrays in, threads, signals and progress.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <thread>

#include "dispatch.hpp"
#include "pool.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace pellucid;

namespace {

const std::vector<std::string> activation_names{
    "identity", "relu", "leaky_relu", "prelu", "hardtanh", "abs", "sigmoid", "tanh",
    "elu", "gelu", "gelu_tanh", "silu", "softplus", "softsign"};
const std::vector<std::string> likelihood_names{
    "gaussian", "bernoulli", "categorical", "mean_variance", "laplace", "student_t", "poisson",
    "negative_binomial", "ordinal", "quantile", "mixture"};
const std::vector<std::string> optimizer_names{"sgd", "rmsprop", "adam", "adamw", "lbfgs"};
const std::vector<std::string> schedule_names{"constant", "step", "cosine", "one_cycle",
                                              "plateau"};
const std::vector<std::string> status_names{"finished", "interrupted", "diverged",
                                            "stopped early", "converged"};
const std::vector<std::string> function_names{"exp", "expm1", "log", "log1p", "tanh", "erf",
                                              "square_root", "binet", "binet_slope", "half_step",
                                              "half_step_slope"};

template <class Enum>
Enum lookup(const std::vector<std::string>& names, const std::string& name) {
    const auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end()) throw nb::value_error(("unknown name: " + name).c_str());
    return Enum(at - names.begin());
}

using Labels = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class Real>
using MatrixOf = nb::ndarray<const Real, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class Real>
using VectorOf = nb::ndarray<const Real, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Writable = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void need(bool condition, const char* what) {
    if (!condition) throw nb::value_error(what);
}

// The real numbers among a job's settings.
using Settings = std::map<std::string, double>;

double number(const Settings& settings, const char* name) {
    const auto at = settings.find(name);
    if (at == settings.end()) throw nb::value_error((std::string("no setting ") + name).c_str());
    return at->second;
}

int64_t count(const Settings& settings, const char* name) {
    const double value = number(settings, name);
    need(value >= 0 && value <= 9007199254740992.0, "a count from 0 to 2^53");
    return int64_t(value);
}

// Training or validation rows; keeps the arrays alive.
template <class Real>
struct Data {
    using Matrix = MatrixOf<Real>;
    using Vector = VectorOf<Real>;

    Matrix X;
    std::optional<Labels> labels;
    std::optional<Matrix> targets;
    std::optional<Vector> weights;
    int32_t lowest = 0, highest = 0;  // label

    Data(Matrix X, std::optional<Labels> labels, std::optional<Matrix> targets,
         std::optional<Vector> weights)
        : X(X), labels(labels), targets(targets), weights(weights) {
        need(labels.has_value() != targets.has_value(), "give labels or targets");
        need(X.shape(0) > 0 && X.shape(0) < (size_t(1) << 31), "1 to 2^31 - 1 rows");
        need((labels ? labels->shape(0) : targets->shape(0)) == X.shape(0), "rows differ");
        need(!weights || weights->shape(0) == X.shape(0), "rows differ");
        if (labels) {
            const int32_t* first = labels->data();
            const auto ends = std::minmax_element(first, first + labels->shape(0));
            lowest = *ends.first, highest = *ends.second;
        }
    }

    Rows<Real> rows() const {
        return {X.data(), labels ? labels->data() : nullptr, targets ? targets->data() : nullptr,
                int64_t(X.shape(0)), weights ? weights->data() : nullptr};
    }

    // Shapes and labels that differ would read out of bounds.
    void check(const std::vector<int32_t>& widths, Likelihood likelihood, int per_target) const {
        need(int64_t(X.shape(1)) == widths.front(), "X and widths differ");
        need(takes_labels(likelihood) == labels.has_value(),
             "labels belong to the categorical and ordinal likelihood, targets to the others");
        const int32_t last = widths.back() - (likelihood == Likelihood::categorical);
        need(!labels || (lowest >= 0 && highest <= last), "labels and widths differ");
        need(!targets || int64_t(targets->shape(1)) * per_target == widths.back(),
             "targets and widths differ");
    }
};

// How many outputs a target takes; what the kernel would misread is refused.
int check_parameters(Likelihood likelihood, const std::vector<double>& p) {
    const size_t n = p.size();
    const auto scale = [&](size_t i) { return p[i] >= 1e-12 && p[i] <= 1e12; };
    switch (likelihood) {
        case Likelihood::mean_variance:
        case Likelihood::student_t:
            need(n == 2 && p[0] >= 0 && p[0] <= 1e12 && scale(1), "parameters");
            break;
        case Likelihood::laplace: need(n == 1 && scale(0), "parameters"); break;
        case Likelihood::quantile: need(n >= 1 && n <= 1000, "parameters"); break;
        case Likelihood::mixture:
            need(n == 2 && p[0] >= 1 && p[0] <= 1000 && scale(1), "parameters");
            break;
        default: need(n == 0, "parameters");
    }
    return outputs_per_target(likelihood, p.data(), int(n));
}

// The arrays of a state, of the sizes that the job's state_size() says.
template <class Real>
struct StateArrays {
    Writable<Real> numbers;
    Writable<int32_t> order;
    Writable<int64_t> counters;
    Writable<double> scalars;

    void check(const StateSize& size) const {
        need(int64_t(numbers.shape(0)) == size.numbers && int64_t(order.shape(0)) == size.order &&
                 int64_t(counters.shape(0)) == size.counters &&
                 int64_t(scalars.shape(0)) == size.scalars, "a state of another shape");
    }

    State<Real> plain() const {
        return {numbers.data(), order.data(), counters.data(), scalars.data()};
    }
};

// A job of either number type.
struct PythonJob {
    virtual ~PythonJob() = default;
    virtual AnyJob any() = 0;
};

// One job with the arrays that its plain pointers point into.
template <class Real>
struct JobOf : PythonJob {
    using Vector = VectorOf<Real>;

    std::vector<int32_t> widths;
    std::vector<HiddenLayer> hidden;
    std::vector<double> likelihood_parameters;
    Job<Real> job{};
    Writable<Real> parameters;
    Writable<int64_t> steps;
    Writable<double> losses;
    std::optional<Writable<double>> validation_losses;
    std::optional<Vector> class_weights;
    std::optional<StateArrays<Real>> resume, pause;
    std::optional<Writable<int64_t>> measured_steps;
    std::vector<Writable<double>> measured;
    std::shared_ptr<Data<Real>> training, validation;

    JobOf(std::shared_ptr<Data<Real>> training_rows, std::shared_ptr<Data<Real>> validation_rows,
              std::vector<int32_t> widths_, const std::vector<std::string>& activations,
              const std::vector<std::pair<double, double>>& activation_parameters,
              const std::string& likelihood, std::vector<double> likelihood_parameters_,
              const std::string& optimizer,
              const std::string& schedule,
              const Settings& settings, bool nesterov, int64_t n_steps,
              int64_t batch_size, uint64_t seed, int64_t record_every,
              Writable<Real> parameters_, Writable<int64_t> steps_, Writable<double> losses_,
              std::optional<Writable<double>> validation_losses_,
              std::optional<Vector> class_weights_)
        : widths(std::move(widths_)), likelihood_parameters(std::move(likelihood_parameters_)),
          parameters(parameters_), steps(steps_), losses(losses_),
          validation_losses(validation_losses_), class_weights(class_weights_), training(std::move(training_rows)),
          validation(std::move(validation_rows)) {
        need(widths.size() >= 2, "widths: input and output at least");
        need(activations.size() + 2 == widths.size(), "one activation for each hidden layer");
        need(activations.size() == activation_parameters.size(), "parameters of each activation");
        need(n_steps >= 0 && batch_size >= 0 && record_every >= 1, "counts");
        int64_t p = 0;
        for (size_t l = 0; l + 1 < widths.size(); ++l) {
            need(widths[l] >= 1 && widths[l] <= (1 << 24) && widths[l + 1] >= 1 &&
                     widths[l + 1] <= (1 << 24), "widths from 1 to 2^24");
            p += (int64_t(widths[l]) + 1) * widths[l + 1];
            need(p < (int64_t(1) << 31), "too many parameters");
        }
        need(int64_t(parameters.shape(0)) == p, "parameters and widths differ");
        const int64_t records = n_steps / record_every + (n_steps % record_every != 0) + 1;
        need(int64_t(steps.shape(0)) >= records && int64_t(losses.shape(0)) >= records,
             "no room for the records");
        for (size_t l = 0; l < activations.size(); ++l)
            hidden.push_back({lookup<Activation>(activation_names, activations[l]),
                              activation_parameters[l].first, activation_parameters[l].second});
        job.likelihood = lookup<Likelihood>(likelihood_names, likelihood);
        const int per_target = check_parameters(job.likelihood, likelihood_parameters);
        training->check(widths, job.likelihood, per_target);
        if (validation) {
            validation->check(widths, job.likelihood, per_target);
            need(validation_losses && int64_t(validation_losses->shape(0)) >= records,
                 "no room for the validation records");
        }
        job.optimizer = {lookup<Optimizer>(optimizer_names, optimizer), nesterov,
                         number(settings, "learning_rate"), number(settings, "momentum"),
                         number(settings, "alpha"), number(settings, "beta1"),
                         number(settings, "beta2"), number(settings, "epsilon"),
                         number(settings, "weight_decay"), count(settings, "history_size")};
        need(job.optimizer.kind != Optimizer::lbfgs ||
                 (job.optimizer.history_size >= 1 && job.optimizer.history_size <= 1000),
             "history_size");
        job.schedule = {lookup<ScheduleKind>(schedule_names, schedule),
                        count(settings, "warmup"), count(settings, "step_size"),
                        count(settings, "plateau_patience"),
                        number(settings, "gamma"), number(settings, "eta_min"),
                        number(settings, "pct_start"), number(settings, "div_factor"),
                        number(settings, "final_div_factor")};
        need(job.schedule.kind != ScheduleKind::step || job.schedule.step_size > 0, "step_size");
        job.dropout = number(settings, "dropout");
        need(job.dropout >= 0 && job.dropout < 1, "dropout below 1");
        job.l1 = number(settings, "l1");
        job.clip_norm = number(settings, "clip_norm");
        job.label_smoothing = number(settings, "label_smoothing");
        need((!class_weights && job.label_smoothing == 0) ||
                 job.likelihood == Likelihood::categorical, "classes need labels");
        need(!class_weights || int64_t(class_weights->shape(0)) == widths.back(),
             "one weight for each class");
        job.patience = count(settings, "patience");
        need(job.patience == 0 || validation, "patience needs validation rows");
        job.steps = n_steps;
        job.batch_size = batch_size;
        job.record_every = record_every;
        job.seed = seed;
    }

    StateSize state_size() { return choose_kernels().of<Real>().state_size(plain()); }
    size_t workspace_bytes() { return choose_kernels().of<Real>().workspace_bytes(plain()); }

    // Indices in it that are out of bounds are not found here: the caller answers for them.
    void resume_from(const StateArrays<Real>& state) {
        state.check(state_size());
        resume = state;
    }

    void pause_into(const StateArrays<Real>& state) {
        state.check(state_size());
        pause = state;
    }

    // Room for the steps that will be measured and, layer by layer, for four numbers of each.
    void measure(int64_t every, Writable<int64_t> at, std::vector<Writable<double>> numbers) {
        need(every >= 1 && numbers.size() == 4, "measure every 1 step at least, four numbers");
        const size_t rows = size_t(job.steps / every + (job.steps % every != 0));
        const size_t layers = widths.size() - 1;
        need(at.shape(0) >= rows, "no room for the measured steps");
        for (size_t i = 0; i < 4; ++i)
            need(numbers[i].shape(0) >= rows * (i < 2 ? layers : layers - 1),
                 "no room for what is measured");
        measured = std::move(numbers);
        measured_steps = at;
        job.measures.every = every;
    }

    AnyJob any() override { return plain(); }

    Job<Real> plain() {
        Job<Real> j = job;
        j.widths = widths.data();
        j.n_layers = int32_t(widths.size()) - 1;
        j.hidden = hidden.data();
        j.likelihood_parameters = likelihood_parameters.data();
        j.n_likelihood_parameters = int32_t(likelihood_parameters.size());
        j.class_weights = class_weights ? class_weights->data() : nullptr;
        j.training = training->rows();
        j.validation = validation ? validation->rows() : Rows<Real>{};
        j.parameters = parameters.data();
        j.recorded_steps = steps.data();
        j.losses = losses.data();
        j.validation_losses = validation ? validation_losses->data() : nullptr;
        if (measured_steps)
            j.measures = {job.measures.every, measured_steps->data(), measured[0].data(),
                          measured[1].data(), measured[2].data(), measured[3].data()};
        if (resume) j.resume = resume->plain();
        if (pause) j.pause = pause->plain();
        return j;
    }
};

// Runs a Python call or signal handler; true where it asked to stop by KeyboardInterrupt.
template <class F>
bool interrupted_by(const F& call) {
    try {
        call();
    } catch (nb::python_error& error) {
        if (!error.matches(PyExc_KeyboardInterrupt)) throw;
        return true;
    }
    return false;
}

// The outcome of each job: (status, steps done, records, measured steps, best step or -1).
nb::list train(std::vector<PythonJob*> python_jobs, size_t threads, nb::object progress,
               double interval) {
    std::vector<AnyJob> jobs;
    int64_t total = 0;
    for (PythonJob* j : python_jobs) {
        jobs.push_back(j->any());
        total += std::visit([](const auto& job) { return job.steps; }, jobs.back());
    }
    if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
    threads = std::min(threads, std::max<size_t>(1, jobs.size()));
    Pool pool(choose_kernels(), jobs);
    {
        nb::gil_scoped_release released;
        pool.start(threads);
        for (bool done = false; !done;) {
            done = pool.wait(std::chrono::duration<double>(interval));
            nb::gil_scoped_acquire held;
            const bool stop = interrupted_by([&] {
                if (PyErr_CheckSignals() != 0) throw nb::python_error();
                if (!progress.is_none()) progress(pool.steps_done(), total);
            });
            if (stop) pool.stop();
        }
    }
    if (pool.out_of_memory()) throw std::bad_alloc();
    nb::list outcomes;
    for (const Outcome& o : pool.outcomes())
        outcomes.append(
            nb::make_tuple(status_names[size_t(o.status)], o.steps_done, o.n_recorded,
                           o.n_measured, o.best_step));
    return outcomes;
}

// What exists once for each number type: pellucid._kernels._native.float32 and .float64.
template <class Real>
void bind_type(nb::module_ m) {
    using Rows = std::shared_ptr<Data<Real>>;
    using Matrix = MatrixOf<Real>;
    using Vector = VectorOf<Real>;
    nb::class_<Data<Real>>(m, "Data").def(
        nb::init<Matrix, std::optional<Labels>, std::optional<Matrix>, std::optional<Vector>>(),
        "X"_a, "labels"_a.none(), "targets"_a.none(), "weights"_a.none() = nb::none());
    nb::class_<StateArrays<Real>>(m, "State").def(
        nb::init<Writable<Real>, Writable<int32_t>, Writable<int64_t>, Writable<double>>(),
        "numbers"_a.noconvert(), "order"_a.noconvert(), "counters"_a.noconvert(),
        "scalars"_a.noconvert());
    nb::class_<JobOf<Real>, PythonJob>(m, "Job").def(
        nb::init<Rows, Rows, std::vector<int32_t>,
                 const std::vector<std::string>&, const std::vector<std::pair<double, double>>&,
                 const std::string&, std::vector<double>, const std::string&, const std::string&,
                 const Settings&, bool,
                 int64_t, int64_t, uint64_t, int64_t, Writable<Real>, Writable<int64_t>,
                 Writable<double>, std::optional<Writable<double>>, std::optional<Vector>>(),
        "training"_a, "validation"_a.none(), "widths"_a, "activations"_a,
        "activation_parameters"_a, "likelihood"_a, "likelihood_parameters"_a, "optimizer"_a, "schedule"_a, "settings"_a, "nesterov"_a,
        "steps"_a, "batch_size"_a, "seed"_a, "record_every"_a,
        "parameters"_a.noconvert(), "recorded_steps"_a.noconvert(), "losses"_a.noconvert(),
        "validation_losses"_a.none().noconvert(),
        "class_weights"_a.none() = nb::none())
        .def("state_size", [](JobOf<Real>& j) {
            const StateSize size = j.state_size();
            return nb::make_tuple(size.numbers, size.order, size.counters, size.scalars);
        })
        .def("workspace_bytes", &JobOf<Real>::workspace_bytes)
        .def("measure", &JobOf<Real>::measure, "every"_a, "steps"_a, "numbers"_a)
        .def("resume_from", &JobOf<Real>::resume_from, "state"_a)
        .def("pause_into", &JobOf<Real>::pause_into, "state"_a)
        .def("learning_rate", [](JobOf<Real>& j, int64_t step) {
            return choose_kernels().of<Real>().learning_rate(j.plain(), step);
        }, "step"_a);
    m.def("apply", [](const std::string& name, Vector x, Writable<Real> out) {
        need(x.shape(0) == out.shape(0), "x and out differ");
        choose_kernels().of<Real>().apply(lookup<Function>(function_names, name), x.data(),
                                          out.data(), int64_t(x.shape(0)));
    }, "name"_a, "x"_a, "out"_a.noconvert());
    m.def("activate", [](const std::string& name, double a, double b, Vector z,
                         Writable<Real> value, Writable<Real> slope) {
        need(z.shape(0) == value.shape(0) && z.shape(0) == slope.shape(0), "lengths differ");
        choose_kernels().of<Real>().activate({lookup<Activation>(activation_names, name), a, b},
                                             z.data(), value.data(), slope.data(),
                                             int64_t(z.shape(0)));
    }, "name"_a, "a"_a, "b"_a, "z"_a, "value"_a.noconvert(), "slope"_a.noconvert());
}

}  // namespace

NB_MODULE(_native, m) {
    m.doc() = "The compiled training kernel; use it through pellucid._kernels.";
    m.attr("ACTIVATIONS") = nb::cast(activation_names);
    m.attr("LIKELIHOODS") = nb::cast(likelihood_names);
    m.attr("OPTIMIZERS") = nb::cast(optimizer_names);
    m.attr("SCHEDULES") = nb::cast(schedule_names);
    m.attr("FUNCTIONS") = nb::cast(function_names);
    m.def("instruction_set", &instruction_set);
    m.def("instruction_sets", &instruction_sets);
    nb::class_<PythonJob>(m, "AnyJob");
    bind_type<float>(m.def_submodule("float32"));
    bind_type<double>(m.def_submodule("float64"));
    m.def("train", &train, "jobs"_a, "threads"_a, "progress"_a.none(),
          "interval"_a);
}
