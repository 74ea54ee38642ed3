// The Python module pellucid._kernels._regions: exact subdivisions, arrays in and out.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cstring>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "instruction_sets.hpp"
#include "region_driver.hpp"
#include "volumes.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace pellucid {

#define PELLUCID_KERNELS(isa)                              \
    namespace isa {                                         \
    extern const RegionKernel plane_kernel;                 \
    extern const RegionKernel box_kernels[N_BOX_KERNELS];   \
    }
PELLUCID_KERNELS(baseline)
#if defined(PELLUCID_X86)
PELLUCID_KERNELS(avx2)
PELLUCID_KERNELS(avx512)
#endif

void bind_maps(nb::module_&);

namespace {

using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Offsets = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Words = nb::ndarray<const uint64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void need(bool condition, const char* what) {
    if (!condition) throw nb::value_error(what);
}

void finite(const double* values, size_t n, const std::string& what) {
    uint64_t carries = 0;  // an exponent of ones carries into the sign's place
    for (size_t i = 0; i < n; ++i) {
        uint64_t bits;
        std::memcpy(&bits, values + i, 8);
        carries |= (bits & 0x7ff0000000000000) + 0x0010000000000000;
    }
    need(carries >> 63 == 0, ("a number is not finite in the " + what).c_str());
}

// Signals, and the end of the time that was given.
struct Poll {
    double seconds;  // 0: for ever
    nb::object ask;  // called now and then; true: end. Or None
    std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
    bool interrupted = false;

    static bool asked(void* data) {
        Poll& poll = *static_cast<Poll*>(data);
        const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - poll.start;
        if (poll.seconds > 0 && passed.count() > poll.seconds) return true;
        nb::gil_scoped_acquire held;
        poll.interrupted = poll.interrupted || PyErr_CheckSignals() != 0;
        if (poll.interrupted || poll.ask.is_none()) return poll.interrupted;
        nb::handle answer = PyObject_CallNoArgs(poll.ask.ptr());
        poll.interrupted = !answer.is_valid();  // it raised
        const bool end = poll.interrupted || PyObject_IsTrue(answer.ptr()) == 1;
        answer.dec_ref();
        return end;
    }
};

template <class T>
nb::object array(Growing& memory, std::initializer_list<size_t> shape) {
    size_t bytes = sizeof(T);
    for (const size_t n : shape) bytes *= n;
    if (!memory.reserve(1)) throw std::bad_alloc();
    nb::capsule owner(memory.release(bytes), [](void* data) noexcept { Growing::give_back(data); });
    return nb::cast(nb::ndarray<nb::numpy, T>(owner.data(), shape.size(), shape.begin(), owner));
}

// What a subdivision is given, checked.
struct Arguments {
    std::vector<RegionLayer> layers;
    RegionProblem problem;
};

Arguments arguments(const std::vector<Matrix>& W, const std::vector<Vector>& b,
                    const std::vector<std::vector<double>>& kinks,
                    const std::vector<std::vector<double>>& slopes,
                    const std::vector<std::vector<double>>& intercepts, const Vector& origin,
                    const Matrix& axes, const Vector& low, const Vector& high, bool exact,
                    Wanted wanted) {
    const size_t n = W.size(), d = axes.shape(0);
    need(b.size() == n && kinks.size() == n && slopes.size() == n && intercepts.size() == n,
         "one entry for each hidden layer");
    need(d >= 1 && d <= 15, "the domain must have 1 to 15 dimensions");
    need(axes.shape(1) == origin.shape(0) && low.shape(0) == d && high.shape(0) == d,
         "origin and axes need one number for each input, low and high one for each axis");
    Arguments result;
    result.layers.resize(n);
    int64_t switches = 0;
    for (size_t l = 0; l < n; ++l) {
        const size_t inputs = l == 0 ? origin.shape(0) : W[l - 1].shape(0);
        need(W[l].shape(1) == inputs && b[l].shape(0) == W[l].shape(0), "shapes of weights");
        need(W[l].shape(0) < (1u << 24) && inputs < (1u << 24), "widths up to 2^24");
        const size_t k = kinks[l].size();
        need(k <= 2 && slopes[l].size() == k + 1 && intercepts[l].size() == k + 1,
             "at most two kinks, and a piece more than kinks");
        finite(W[l].data(), W[l].size(), "weights of hidden layer " + std::to_string(l + 1));
        finite(b[l].data(), b[l].size(), "biases of hidden layer " + std::to_string(l + 1));
        for (const auto* numbers : {&kinks[l], &slopes[l], &intercepts[l]})
            finite(numbers->data(), numbers->size(), "pieces of hidden layer " + std::to_string(l + 1));
        RegionLayer& layer = result.layers[l];
        layer.inputs = int32_t(inputs), layer.units = int32_t(W[l].shape(0));
        layer.W = W[l].data(), layer.b = b[l].data();
        layer.n_kinks = int32_t(k);
        for (size_t i = 0; i < k; ++i) layer.kink[i] = kinks[l][i];
        for (size_t i = 0; i <= k; ++i)
            layer.slope[i] = slopes[l][i], layer.intercept[i] = intercepts[l][i];
        switches += layer.switches();
    }
    need(switches < (int64_t(1) << 31), "too many units");
    finite(origin.data(), origin.shape(0), "origin");
    finite(axes.data(), axes.size(), d == 2 ? "u or v" : "axes");
    finite(low.data(), d, "low"), finite(high.data(), d, "high");
    for (size_t i = 0; i < d; ++i)
        need(low.data()[i] < high.data()[i], d == 2 ? "low must be below high on both axes"
                                                    : "low must be below high on every axis");
    const RegionDomain domain{int32_t(origin.shape(0)), int32_t(d), origin.data(), axes.data(),
                              nullptr, low.data(), high.data()};
    result.problem = {result.layers.data(), int32_t(n), domain, exact, wanted, switches,
                      (switches + 7) / 8};
    return result;
}

// Gives batches of regions to a Python function while the search goes on.
template <class Pack>
struct Batches {
    nb::object give;
    Pack pack;  // (output) -> tuple
    int64_t given = 0, again = 0;  // again: batches to come that were given before
    std::exception_ptr failure = nullptr;

    void begin() { again = given; }

    static bool take(void* data, RegionOutput& output) {
        Batches& self = *static_cast<Batches*>(data);
        if (self.failure) return false;
        if (self.again > 0) return --self.again, true;
        const nb::gil_scoped_acquire held;
        try {
            ++self.given;
            self.give(*self.pack(output));
            return true;
        } catch (...) {
            self.failure = std::current_exception();
            return false;
        }
    }
};

// Regions, switches, patterns, vertices and offsets; then what differs; then how signs were decided.
nb::tuple answer(RegionOutput& out, const RegionProblem& problem, bool complete,
                 const nb::object& what_differs) {
    nb::object arrays[3] = {nb::none(), nb::none(), nb::none()};
    const size_t r = size_t(out.regions);
    if (problem.wanted != Wanted::count)
        arrays[0] = array<uint8_t>(out.patterns, {r, size_t(problem.bytes)});
    if (problem.wanted == Wanted::vertices) {
        arrays[1] = array<double>(out.points, {size_t(out.vertices), size_t(problem.domain.d)});
        arrays[2] = array<int64_t>(out.offsets, {r + 1});
    }
    const nb::tuple first =
        nb::make_tuple(out.regions, problem.switches, arrays[0], arrays[1], arrays[2]);
    const nb::tuple last =
        nb::make_tuple(out.vertex_error, out.by_filter, out.by_exact, out.undecided, complete);
    return nb::tuple(first + what_differs + last);
}

struct Options {
    int64_t limit;
    double seconds;
    int32_t threads;
    nb::object sink;  // called with every `batch` regions, in place of all at the end; or None
    int64_t batch;
    nb::object ask;  // called now and then; true: end
};

// Runs the first kernel that has enough dimensions, and the next where a cell has too many facets;
// packs what was found: pack(kernel, output) is what differs between domains.
template <class Pack>
nb::tuple search(const RegionKernel* first, const RegionKernel* last, RegionProblem problem,
                 const Options& options, Pack pack) {
    const RegionKernel* kernel = first;
    auto batch = [&](RegionOutput& out) { return answer(out, problem, false, pack(*kernel, out)); };
    Batches<decltype(batch)> batches{options.sink, batch};
    if (!options.sink.is_none()) {
        need(options.batch > 0 && options.threads == 1 && options.limit == 0, "batches");
        problem.sink = {options.batch, &Batches<decltype(batch)>::take, &batches};
    }
    std::unique_ptr<RegionResult> result;
    need(options.limit >= 0 && options.threads >= 1, "limit, threads");
    Poll poll{options.seconds, options.ask};
    for (; kernel != last; ++kernel) {
        if (kernel->d < problem.domain.d) continue;
        result = std::make_unique<RegionResult>();
        batches.begin();
        {
            nb::gil_scoped_release released;
            find_regions(*kernel, problem, options.threads, options.limit, &Poll::asked, &poll,
                         result.get());
        }
        if (batches.failure) std::rethrow_exception(batches.failure);
        if (poll.interrupted) throw nb::python_error();
        if (result->stopped == Stop::out_of_memory) throw std::bad_alloc();
        if (result->stopped == Stop::too_deep)
            throw nb::value_error("more cuts lie within each other than the stack holds (thousands of "
                                  "nearly parallel hyperplanes); take fewer units or a smaller domain");
        if (result->stopped == Stop::too_many_facets) continue;
        RegionOutput& out = result->regions;
        return answer(out, problem, result->complete, pack(*kernel, out));
    }
    throw nb::value_error("a cell has more than 1024 facets, which is more than the kernel can hold");
}

nb::tuple plane(const std::vector<Matrix>& W, const std::vector<Vector>& b,
                const std::vector<std::vector<double>>& kinks,
                const std::vector<std::vector<double>>& slopes,
                const std::vector<std::vector<double>>& intercepts, Vector origin, Matrix axes,
                Vector low, Vector high, bool exact, int wanted, int64_t limit, double seconds,
                int32_t threads, nb::object sink, int64_t batch, nb::object ask) {
    need(axes.shape(0) == 2, "a plane has two axes");
    need(wanted == int(Wanted::count) || wanted == int(Wanted::vertices), "wanted");
    const Arguments given = arguments(W, b, kinks, slopes, intercepts, origin, axes, low, high,
                                      exact, Wanted(wanted));
    const RegionKernel* kernel = &PELLUCID_KERNEL(instruction_set(), plane_kernel);
    auto edges = [&](const RegionKernel&, RegionOutput& out) {
        nb::object found = nb::none();
        if (wanted != int(Wanted::count))
            found = array<int32_t>(out.incidence, {size_t(out.vertices)});
        return nb::make_tuple(found);
    };
    return search(kernel, kernel + 1, given.problem, {limit, seconds, threads, sink, batch, ask}, edges);
}

nb::tuple box(const std::vector<Matrix>& W, const std::vector<Vector>& b,
              const std::vector<std::vector<double>>& kinks,
              const std::vector<std::vector<double>>& slopes,
              const std::vector<std::vector<double>>& intercepts, Vector origin, Matrix axes,
              Matrix rest, Vector low, Vector high, bool exact, int wanted, int64_t limit,
              double seconds, int32_t threads, nb::object sink, int64_t batch, nb::object ask,
              int64_t games_from) {
    const bool allowed = wanted == int(Wanted::patterns) && axes.shape(0) > 1;
    need(allowed || wanted == int(Wanted::count) || wanted == int(Wanted::vertices), "wanted");
    Arguments given = arguments(W, b, kinks, slopes, intercepts, origin, axes, low, high, exact,
                                Wanted(wanted));
    need(rest.shape(0) == axes.shape(0) && rest.shape(1) == axes.shape(1), "shapes of axes");
    finite(rest.data(), rest.size(), "axes");
    given.problem.domain.rest = rest.data();
    given.problem.games_from = games_from;
    const RegionKernel* first = PELLUCID_KERNEL(instruction_set(), box_kernels);
    auto facets = [&](const RegionKernel& kernel, RegionOutput& out) {
        nb::object arrays[3] = {nb::none(), nb::none(), nb::none()};
        if (wanted == int(Wanted::vertices))
            arrays[0] = array<uint64_t>(out.incidence,
                                        {size_t(out.vertices), size_t(kernel.facets) / 64});
        if (wanted != int(Wanted::count)) {
            arrays[1] = array<int32_t>(out.facet_numbers, {size_t(out.facets)});
            arrays[2] = array<int64_t>(out.facet_offsets, {size_t(out.regions) + 1});
        }
        return nb::make_tuple(arrays[0], arrays[1], arrays[2]);
    };
    return search(first, first + N_BOX_KERNELS, given.problem,
                  {limit, seconds, threads, sink, batch, ask}, facets);
}

}  // namespace
}  // namespace pellucid

NB_MODULE(_regions, m) {
    using namespace pellucid;
    m.doc() = "The compiled region kernels; use them through pellucid._kernels.subdivision.";
    bind_maps(m);
    m.def("instruction_set", &instruction_set);
    m.def("instruction_sets", &instruction_sets);
    m.def("subdivide_plane", &plane, "weights"_a, "biases"_a, "kinks"_a, "slopes"_a,
          "intercepts"_a, "origin"_a, "axes"_a, "low"_a, "high"_a, "exact"_a, "wanted"_a,
          "limit"_a, "seconds"_a, "threads"_a, "sink"_a.none(), "batch"_a,
          "ask"_a.none());
    m.def("subdivide_box", &box, "weights"_a, "biases"_a, "kinks"_a, "slopes"_a, "intercepts"_a,
          "origin"_a, "axes"_a, "rest"_a, "low"_a, "high"_a, "exact"_a, "wanted"_a, "limit"_a,
          "seconds"_a, "threads"_a, "sink"_a.none(), "batch"_a,
          "ask"_a.none(), "games_from"_a = GAMES_FROM);
    m.def("box_volumes", [](Matrix vertices, Offsets offsets, Words tight) {
        const size_t n = offsets.shape(0) - 1, d = vertices.shape(1);
        need(offsets.shape(0) >= 1 && d >= 1 && d <= 15 && tight.shape(0) == vertices.shape(0),
             "shapes of regions");
        for (size_t i = 0; i < n; ++i)
            need(offsets.data()[i] >= 0 && offsets.data()[i] <= offsets.data()[i + 1] &&
                     offsets.data()[i + 1] <= int64_t(vertices.shape(0)), "offsets");
        Growing volumes;
        if (!volumes.reserve((n + 1) * sizeof(double))) throw std::bad_alloc();
        {
            const nb::gil_scoped_release released;
            box_volumes(int64_t(n), int(d), int(tight.shape(1)), vertices.data(), offsets.data(),
                    tight.data(), static_cast<double*>(volumes.data));
        }
        return array<double>(volumes, {n});
    });
    // For the tests of predicates: sign of det [rows] of k x k numbers, and of sum of a_i b_i.
    m.def("determinant_sign", [](Matrix rows) {
        const size_t k = rows.shape(0);
        need(rows.shape(1) == k && k >= 1 && k <= 10, "a square matrix of at most 10 rows");
        std::vector<std::vector<Dyadic>> exact(k);
        std::vector<const Dyadic*> pointers;
        for (size_t i = 0; i < k; ++i) {
            for (size_t j = 0; j < k; ++j) exact[i].emplace_back(rows.data()[i * k + j]);
            pointers.push_back(exact[i].data());
        }
        return determinant_sign(pointers, int(k));
    });
    m.def("dot_sign", [](Vector a, Vector b) {
        need(a.shape(0) == b.shape(0), "lengths differ");
        Dyadic sum;
        for (size_t i = 0; i < a.shape(0); ++i)
            sum.add_product(Dyadic(a.data()[i]), Dyadic(b.data()[i]));
        return nb::make_tuple(sum.sign(), sum.approximate());
    });
}
