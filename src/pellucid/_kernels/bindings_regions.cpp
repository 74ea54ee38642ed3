// The Python module pellucid._kernels._regions: exact subdivisions, arrays in and out.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "region_driver.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace pellucid {

namespace baseline { extern const RegionKernel plane_kernel; }
#if defined(PELLUCID_X86)
namespace avx2 { extern const RegionKernel plane_kernel; }
namespace avx512 { extern const RegionKernel plane_kernel; }
#endif

void bind_maps(nb::module_&);

namespace {

using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void need(bool condition, const char* what) {
    if (!condition) throw nb::value_error(what);
}

void finite(const double* values, size_t n, const std::string& what) {
    bool all = true;
    for (size_t i = 0; i < n; ++i) all &= values[i] - values[i] == 0;
    need(all, ("a number is not finite in the " + what).c_str());
}

// Best first.
std::vector<const RegionKernel*> available() {
    std::vector<const RegionKernel*> found;
#if defined(PELLUCID_X86)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        found.push_back(&avx512::plane_kernel);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        found.push_back(&avx2::plane_kernel);
#endif
    found.push_back(&baseline::plane_kernel);
    return found;
}

// PELLUCID_ISA=baseline|avx2|avx512 overrides the choice, for tests.
const RegionKernel& choose() {
    const auto found = available();
    const char* wanted = std::getenv("PELLUCID_ISA");
    if (!wanted || !*wanted) return *found.front();
    for (const RegionKernel* k : found)
        if (std::string(wanted) == k->isa) return *k;
    throw std::invalid_argument("PELLUCID_ISA is '" + std::string(wanted) +
                                "', which this processor or build does not have");
}

// Signals, and the end of the time that was given.
struct Poll {
    double seconds;  // 0: for ever
    std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
    bool interrupted = false;

    static bool asked(void* data) {
        Poll& poll = *static_cast<Poll*>(data);
        const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - poll.start;
        if (poll.seconds > 0 && passed.count() > poll.seconds) return true;
        nb::gil_scoped_acquire held;
        poll.interrupted = poll.interrupted || PyErr_CheckSignals() != 0;
        return poll.interrupted;
    }
};

template <class T>
nb::object array(Growing& memory, std::initializer_list<size_t> shape) {
    void* data = memory.release();
    nb::capsule owner(data ? data : std::malloc(1), [](void* p) noexcept { std::free(p); });
    return nb::cast(nb::ndarray<nb::numpy, T>(owner.data(), shape.size(), shape.begin(), owner));
}

nb::tuple subdivide(const std::vector<Matrix>& W, const std::vector<Vector>& b,
                    const std::vector<std::vector<double>>& kinks,
                    const std::vector<std::vector<double>>& slopes,
                    const std::vector<std::vector<double>>& intercepts, Vector origin, Matrix axes,
                    Vector low, Vector high, bool exact, bool count_only, int64_t limit,
                    double seconds, int32_t threads) {
    const size_t n = W.size();
    need(b.size() == n && kinks.size() == n && slopes.size() == n && intercepts.size() == n,
         "one entry for each hidden layer");
    need(axes.shape(0) == 2 && axes.shape(1) == origin.shape(0) && low.shape(0) == 2 &&
             high.shape(0) == 2, "a plane has two axes");
    need(limit >= 0 && threads >= 1, "limit, threads");
    std::vector<RegionLayer> layers(n);
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
        RegionLayer& layer = layers[l];
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
    finite(axes.data(), 2 * axes.shape(1), "u or v");
    finite(low.data(), 2, "low"), finite(high.data(), 2, "high");
    need(low.data()[0] < high.data()[0] && low.data()[1] < high.data()[1],
         "low must be below high on both axes");
    const RegionDomain domain{int32_t(origin.shape(0)), 2, origin.data(), axes.data(), low.data(),
                              high.data()};
    const RegionProblem problem{layers.data(), int32_t(n), domain, exact, count_only, switches,
                               (switches + 7) / 8};
    RegionResult result;
    Poll poll{seconds};
    {
        const RegionKernel& kernel = choose();
        nb::gil_scoped_release released;
        find_regions(kernel, problem, threads, limit, &Poll::asked, &poll, &result);
    }
    if (poll.interrupted) throw nb::python_error();
    if (result.stopped == Stop::out_of_memory) throw std::bad_alloc();
    RegionOutput& out = result.regions;
    const size_t r = count_only ? 0 : size_t(out.regions), v = size_t(out.vertices);
    nb::object arrays[4] = {nb::none(), nb::none(), nb::none(), nb::none()};
    if (!count_only)
        arrays[0] = array<uint8_t>(out.patterns, {r, size_t(problem.bytes)}),
        arrays[1] = array<double>(out.points, {v, 2}), arrays[2] = array<int64_t>(out.offsets, {r + 1}),
        arrays[3] = array<int32_t>(out.incidence, {v});
    return nb::make_tuple(out.regions, switches, arrays[0], arrays[1], arrays[2], arrays[3], out.vertex_error,
                          out.by_filter, out.by_exact, out.undecided, result.complete);
}

}  // namespace
}  // namespace pellucid

NB_MODULE(_regions, m) {
    using namespace pellucid;
    m.doc() = "The compiled region kernels; use them through pellucid._kernels.subdivision.";
    bind_maps(m);
    m.def("instruction_set", [] { return choose().isa; });
    m.def("instruction_sets", [] {
        std::vector<std::string> names;
        for (const RegionKernel* k : available()) names.push_back(k->isa);
        return names;
    });
    m.def("subdivide_plane", &subdivide, "weights"_a, "biases"_a, "kinks"_a, "slopes"_a,
          "intercepts"_a, "origin"_a, "axes"_a, "low"_a, "high"_a, "exact"_a, "count_only"_a,
          "limit"_a, "seconds"_a, "threads"_a);
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
