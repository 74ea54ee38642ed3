// compose_maps and pair_facets for Python, part of the module _regions.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "compose_maps.hpp"
#include "instruction_sets.hpp"
#include "pair_facets.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace pellucid {

namespace baseline { extern const ComposeKernel compose_kernel; }
#if defined(PELLUCID_X86)
namespace avx2 { extern const ComposeKernel compose_kernel; }
namespace avx512 { extern const ComposeKernel compose_kernel; }
#endif

namespace {

using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Bytes = nb::ndarray<const uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Offsets = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Switches = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void need(bool condition, const char* what) {
    if (!condition) throw nb::value_error(what);
}

nb::object array(size_t n, std::initializer_list<size_t> shape) {
    std::unique_ptr<double[]> data(new double[n > 0 ? n : 1]);
    double* at = data.get();
    nb::capsule owner(data.release(), [](void* p) noexcept { delete[] static_cast<double*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, double>(at, shape.size(), shape.begin(), owner));
}

nb::tuple compose(const std::vector<Matrix>& W, const std::vector<Vector>& b,
                  const std::vector<std::vector<double>>& slopes,
                  const std::vector<std::vector<double>>& intercepts, Matrix first_map,
                  Matrix output_weight, Vector output_bias, Bytes patterns) {
    const size_t L = W.size(), d_out = output_weight.shape(0), columns = first_map.shape(0);
    need(L > 0 && b.size() == L && slopes.size() == L && intercepts.size() == L,
         "one entry for each layer with kinks");
    need(columns >= 1 && first_map.shape(1) == W[0].shape(0), "shape of the first map");
    need(output_bias.shape(0) == d_out && output_weight.shape(1) == W[L - 1].shape(0),
         "shapes of the output layer");
    std::vector<RegionLayer> layers(L);
    int64_t switches = 0;
    for (size_t l = 0; l < L; ++l) {
        RegionLayer& layer = layers[l];
        const size_t pieces = slopes[l].size();
        need(pieces >= 1 && pieces <= 3 && intercepts[l].size() == pieces, "pieces");
        need(b[l].shape(0) == W[l].shape(0) && (l == 0 || W[l].shape(1) == W[l - 1].shape(0)),
             "shapes of weights");
        layer.inputs = int32_t(W[l].shape(1)), layer.units = int32_t(W[l].shape(0));
        layer.W = W[l].data(), layer.b = b[l].data();
        layer.n_kinks = int32_t(pieces) - 1;
        for (size_t i = 0; i < pieces; ++i)
            layer.slope[i] = slopes[l][i], layer.intercept[i] = intercepts[l][i];
        switches += layer.switches();
    }
    need(int64_t(patterns.shape(1)) == (switches + 7) / 8, "bytes of a pattern");
    const size_t n = patterns.shape(0);
    nb::object maps = array(n * d_out * columns, {n, d_out, columns});
    nb::object norms = array(n * L, {n, L});
    auto data = [](const nb::object& of) {
        return static_cast<double*>(nb::cast<nb::ndarray<>>(of).data());
    };
    const ComposeProblem problem{layers.data(), int32_t(L), int32_t(columns) - 1, first_map.data(),
                                 int32_t(d_out), output_weight.data(), output_bias.data(),
                                 patterns.data(), int64_t(n), int64_t(patterns.shape(1))};
    double *to_maps = data(maps), *to_norms = data(norms);
    const ComposeKernel& kernel = PELLUCID_KERNEL(instruction_set(), compose_kernel);
    bool done;
    {
        nb::gil_scoped_release released;
        done = kernel.compose(problem, to_maps, to_norms);
    }
    if (!done) throw std::bad_alloc();
    return nb::make_tuple(maps, norms);
}

// A vector's numbers as an array that owns them.
nb::object array_of(std::vector<int64_t>&& numbers, std::initializer_list<size_t> shape) {
    auto* kept = new std::vector<int64_t>(std::move(numbers));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<int64_t>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, int64_t>(kept->data(), shape.size(), shape.begin(), owner));
}

nb::tuple pairs_of_facets(Bytes patterns, Offsets offsets, Switches facets) {
    const auto n = int64_t(patterns.shape(0)), bytes = int64_t(patterns.shape(1));
    need(int64_t(offsets.shape(0)) == n + 1 && offsets(0) == 0, "one offset for each region");
    for (int64_t i = 0; i < n; ++i) need(offsets(i) <= offsets(i + 1), "offsets that rise");
    need(offsets(n) == int64_t(facets.shape(0)), "facets as the offsets say");
    for (size_t i = 0; i < facets.shape(0); ++i)
        need(facets(i) < 8 * bytes, "facets along switches of the patterns");
    FacetPairs found;
    {
        nb::gil_scoped_release released;
        found = pair_facets({patterns.data(), n, bytes, offsets.data(), facets.data()});
    }
    const size_t pairs = found.pairs.size() / 2, alone = found.alone.size();
    return nb::make_tuple(array_of(std::move(found.pairs), {pairs, 2}),
                          array_of(std::move(found.regions), {pairs, 2}),
                          array_of(std::move(found.alone), {alone}));
}

}  // namespace

void bind_maps(nb::module_& m) {
    m.def("pair_facets", &pairs_of_facets, "patterns"_a, "offsets"_a, "facets"_a);
    m.def("compose_maps", &compose, "weights"_a, "biases"_a, "slopes"_a, "intercepts"_a,
          "first_map"_a, "output_weight"_a, "output_bias"_a, "patterns"_a);
}

}  // namespace pellucid
