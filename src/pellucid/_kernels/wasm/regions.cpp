// Exact regions of a network on a rectangle and the pieces on a segment, with everything that the page
// draws: polygons, patterns, maps, the three counts, the boundary between classes.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "../class_cuts.hpp"
#include "../compose_maps.hpp"
#include "../merge_regions.hpp"
#include "../region_driver.hpp"
#include "abi.hpp"

namespace pellucid {

namespace baseline {
extern const RegionKernel plane_kernel, line_kernel;
extern const ComposeKernel compose_kernel;
}

namespace {

constexpr int64_t MOST_REGIONS = 2'000'000;
constexpr int64_t MOST_HIDDEN = 8192;

// A network in float64 as the searches take it; the output is the last layer, without kinks.
struct Chain {
    Net net;
    std::vector<std::vector<double>> arrays;  // W and b of each layer in turn
    std::vector<RegionLayer> layers;

    bool read(Description& from, const float* parameters, int32_t n);
    int32_t n_hidden() const { return int32_t(layers.size()) - 1; }
    int64_t switches() const {
        int64_t total = 0;
        for (const RegionLayer& layer : layers) total += layer.switches();
        return total;
    }
};

// The pieces of an activation; false where it is smooth.
bool pieces_of(const HiddenLayer& of, RegionLayer& layer) {
    const auto one_kink = [&](double below) {
        layer.n_kinks = 1;
        layer.slope[0] = below, layer.slope[1] = 1;
    };
    switch (of.activation) {
        case Activation::identity: layer.slope[0] = 1; return true;
        case Activation::relu: one_kink(0); return true;
        case Activation::leaky_relu:
        case Activation::prelu: one_kink(of.a); return true;
        case Activation::abs: one_kink(-1); return true;
        case Activation::hardtanh:
            layer.n_kinks = 2;
            layer.kink[0] = of.a, layer.kink[1] = of.b;
            layer.slope[1] = 1;
            layer.intercept[0] = of.a, layer.intercept[2] = of.b;
            return true;
        default: return false;
    }
}

bool Chain::read(Description& from, const float* parameters, int32_t n) {
    if (!net.read(from)) return false;
    if (!need(n == net.n_parameters(), "the number of parameters does not belong to these widths") ||
        !need(net.n_hidden() <= MOST_HIDDEN, "the network has more than 8192 hidden units"))
        return false;
    for (int32_t i = 0; i < n; ++i)
        if (!(parameters[i] - parameters[i] == 0)) return refuse("a parameter is not a finite number");
    for (int l = 0; l < net.n_layers(); ++l) {
        const int32_t inputs = net.widths[size_t(l)], units = net.widths[size_t(l) + 1];
        const int64_t weights = int64_t(inputs) * units;
        arrays.emplace_back(parameters, parameters + weights);
        arrays.emplace_back(parameters + weights, parameters + weights + units);
        parameters += weights + units;
        RegionLayer layer{inputs, units, nullptr, nullptr, 0, {}, {}, {}};
        const bool last = l + 1 == net.n_layers();
        if (last) layer.slope[0] = 1;
        else if (!need(pieces_of(net.hidden[size_t(l)], layer),
                       "a smooth activation bends everywhere, so there are no linear regions; take relu, "
                       "leaky_relu, prelu, hardtanh, abs or identity"))
            return false;
        layers.push_back(layer);
    }
    for (size_t l = 0; l < layers.size(); ++l)
        layers[l].W = arrays[2 * l].data(), layers[l].b = arrays[2 * l + 1].data();
    return true;
}

// A domain whose coordinates are brought near 1 for the search, by powers of two.
struct Place {
    std::vector<double> origin, axes, rest;
    double low[2], high[2], scale[2];
    RegionDomain domain{};

    void set(int32_t d_in, int32_t d) {
        if (d == 2) bring_near_1(d_in);
        domain = {d_in, d, origin.data(), axes.data(), rest.empty() ? nullptr : rest.data(), low, high};
    }

private:
    // As regions/scaling.py: nothing where all coordinates reach about as far, or bits could be lost.
    void bring_near_1(int32_t d_in) {
        double reach[2], largest = 0, least = INFINITY;
        const auto look = [&](double x) {
            if (x == 0) return;
            largest = std::max(largest, std::fabs(x)), least = std::min(least, std::fabs(x));
        };
        for (int i = 0; i < 2; ++i) {
            reach[i] = std::max(std::fabs(low[i]), std::fabs(high[i]));
            look(low[i]), look(high[i]);
            scale[i] = 1;
        }
        for (const double x : axes) look(x);
        if (std::min(reach[0], reach[1]) >= 0x1p-4 && std::max(reach[0], reach[1]) < 8) return;
        if (!(std::max(largest, 1 / least) < 0x1p500)) return;
        for (int i = 0; i < 2; ++i) {
            int exponent;
            std::frexp(reach[i], &exponent);
            scale[i] = std::ldexp(1.0, exponent);
            low[i] /= scale[i], high[i] /= scale[i];
            for (int32_t j = 0; j < d_in; ++j) axes[size_t(i * d_in + j)] *= scale[i];
        }
    }
};

bool finite(const double* values, int64_t n) {
    return std::all_of(values, values + n, [](double x) { return x - x == 0; });
}

// False, with a sentence, where the search broke off for another reason than its limit.
bool search(const RegionKernel& kernel, const std::vector<RegionLayer>& layers, int32_t n_layers,
            const Place& place, int64_t limit, RegionResult& result) {
    int64_t switches = 0;
    for (int32_t l = 0; l < n_layers; ++l) switches += layers[size_t(l)].switches();
    const RegionProblem problem{layers.data(), n_layers, place.domain, true, Wanted::vertices, switches,
                                (switches + 7) / 8};
    find_regions(kernel, problem, 1, limit, nullptr, nullptr, &result);
    return need(result.stopped != Stop::out_of_memory,
                "there are more regions here than the memory of the page holds; take a smaller domain or "
                "a limit") &&
           need(result.stopped != Stop::too_deep && result.stopped != Stop::too_many_facets,
                "more lines lie within each other than the search can hold; take fewer units or a smaller "
                "domain");
}

// slope and constant of the outputs on every region, in coordinates of the search.
bool compose(const Chain& chain, const Place& place, const RegionOutput& regions, int64_t bytes,
             std::vector<double>& maps) {
    const RegionDomain& domain = place.domain;
    const RegionLayer& first = chain.layers.front();
    const int64_t columns = domain.d + 1;
    std::vector<double> first_map(size_t(columns * first.units));
    for (int64_t c = 0; c < columns; ++c) {
        const double* along = c < domain.d ? domain.axes + c * domain.d_in : domain.origin;
        for (int64_t i = 0; i < first.units; ++i) {
            double sum = 0;
            for (int64_t j = 0; j < domain.d_in; ++j) sum += first.W[i * domain.d_in + j] * along[j];
            first_map[size_t(c * first.units + i)] = c < domain.d ? sum : sum + first.b[i];
        }
    }
    const int32_t L = chain.n_hidden();
    const int64_t n = regions.regions, d_out = chain.net.d_out();
    maps.resize(size_t(n * d_out * columns));
    if (L == 0) {
        for (int64_t i = 0; i < n * d_out * columns; ++i)
            maps[size_t(i)] = first_map[size_t(i % columns * d_out + i / columns % d_out)];
        return true;
    }
    const RegionLayer& output = chain.layers.back();
    std::vector<double> norms(size_t(n * L));
    const ComposeProblem problem{chain.layers.data(), L, domain.d, first_map.data(), int32_t(d_out),
                                 output.W, output.b,
                                 static_cast<const uint8_t*>(regions.patterns.data), n, bytes};
    return need(baseline::compose_kernel.compose(problem, maps.data(), norms.data()),
                "there is not enough memory for the maps of these regions; take a limit");
}

// What a call leaves behind.
struct Answer {
    std::vector<uint8_t> patterns;
    std::vector<double> vertices, slopes, intercepts, boundary;
    std::vector<int32_t> offsets, edges, boundary_pair;
    MergedRegions merged;
    // n, stride, complete, certified, vertex error, linear regions, affine maps, segments, switches
    double numbers[9] = {};
};
Answer answer;

template <class To, class From>
void copy_out(std::vector<To>& to, const Growing& from, int64_t n) {
    const From* data = static_cast<const From*>(from.data);
    to.assign(data, data + n);
}

// (n, d_out, d + 1) in the coordinates of the search -> slopes (n, d_out, d) in the domain's, intercepts.
void split_maps(const std::vector<double>& maps, const Place& place) {
    const size_t d = size_t(place.domain.d), rows = maps.size() / (d + 1);
    answer.slopes.resize(rows * d), answer.intercepts.resize(rows);
    for (size_t i = 0; i < rows; ++i) {
        for (size_t c = 0; c < d; ++c)
            answer.slopes[i * d + c] = maps[i * (d + 1) + c] / (d == 2 ? place.scale[c] : 1);
        answer.intercepts[i] = maps[i * (d + 1) + d];
    }
}

FoundRegions found_regions(const std::vector<RegionLayer>& layers, const Place& place,
                           const RegionOutput& out, int64_t bytes) {
    return {layers.data(), int32_t(layers.size()), place.domain, out.regions, bytes,
            static_cast<const uint8_t*>(out.patterns.data), static_cast<const int64_t*>(out.offsets.data),
            static_cast<const int32_t*>(out.incidence.data)};
}

// The segments between cells of different classes, in coordinates of the domain.
bool find_boundary(const Chain& chain, const Place& place, int64_t limit) {
    const std::vector<HeadLayer> head = class_cuts(chain.layers, place.domain);
    if (!need(!head.empty(), "the outputs may be too large here for an exact boundary; take a smaller domain"))
        return false;
    std::vector<RegionLayer> layers = chain.layers;
    const int64_t first = chain.switches();
    for (const HeadLayer& of : head)
        layers.push_back({of.inputs, of.units, of.W.data(), of.b.data(), 1, {0, 0}, {0, 1, 0}, {0, 0, 0}});
    RegionResult result;
    if (!search(baseline::plane_kernel, layers, int32_t(layers.size()), place, limit, result)) return false;
    const RegionOutput& out = result.regions;
    int64_t switches = first;
    for (const HeadLayer& of : head) switches += of.units;
    const FoundRegions cells = found_regions(layers, place, out, (switches + 7) / 8);
    const std::vector<int32_t> owner = owner_of_facets(cells);
    const auto label = [&](int64_t cell) {
        int64_t number = first;
        int32_t found = 0;
        for (size_t j = 0; j < head.size(); number += head[j++].units) {
            const uint8_t byte = cells.patterns[cell * cells.bytes + (number >> 3)];
            if (byte >> (number & 7) & 1) found = int32_t(j) + 1;
        }
        return found;
    };
    const double* points = static_cast<const double*>(out.points.data);
    for (auto [a, b] : facet_pairs(cells)) {
        int32_t below = label(owner[size_t(a)]), above = label(owner[size_t(b)]);
        if (below == above) continue;
        if (below > above) std::swap(below, above), std::swap(a, b);
        const int64_t cell = owner[size_t(a)];
        const int64_t end = a + 1 == cells.offsets[cell + 1] ? cells.offsets[cell] : a + 1;
        for (const int64_t v : {a, end})
            for (int i = 0; i < 2; ++i) answer.boundary.push_back(points[2 * v + i] * place.scale[i]);
        answer.boundary_pair.push_back(below), answer.boundary_pair.push_back(above);
    }
    return true;
}


void tell(const RegionResult& result, int64_t switches) {
    const RegionOutput& out = result.regions;
    double* numbers = answer.numbers;
    numbers[0] = double(out.regions), numbers[1] = double((switches + 7) / 8);
    numbers[2] = result.complete, numbers[3] = out.undecided == 0, numbers[4] = out.vertex_error;
    numbers[8] = double(switches);
    copy_out<uint8_t, uint8_t>(answer.patterns, out.patterns, out.regions * ((switches + 7) / 8));
}

}  // namespace
}  // namespace pellucid

using namespace pellucid;

// domain: low (2), high (2), origin (d_in), axes (2 x d_in). 0, or -1.
PELLUCID_EXPORT("regions")
int32_t regions(const int32_t* whole, int32_t n_whole, const double* numbers, int32_t n_numbers,
                const float* parameters, int32_t n_parameters, const double* domain, int32_t n_domain,
                double limit, int32_t counts, int32_t boundary) {
    answer = {};
    Description from(whole, n_whole, numbers, n_numbers);
    Chain chain;
    if (!chain.read(from, parameters, n_parameters)) return -1;
    const int32_t d_in = chain.net.d_in();
    if (!need(n_domain == 4 + 3 * d_in && finite(domain, n_domain),
              "the domain needs finite numbers, one for each input of the network") ||
        !need(domain[0] < domain[2] && domain[1] < domain[3], "low must be below high on both axes") ||
        !need(limit >= 1 && limit <= MOST_REGIONS, "the limit must lie between 1 and 2 million regions"))
        return -1;
    Place place;
    for (int i = 0; i < 2; ++i) place.low[i] = domain[i], place.high[i] = domain[2 + i];
    place.origin.assign(domain + 4, domain + 4 + d_in);
    place.axes.assign(domain + 4 + d_in, domain + n_domain);
    place.set(d_in, 2);
    RegionResult result;
    if (!search(baseline::plane_kernel, chain.layers, chain.n_hidden(), place, int64_t(limit), result))
        return -1;
    const RegionOutput& out = result.regions;
    const int64_t switches = chain.switches(), bytes = (switches + 7) / 8;
    tell(result, switches);
    answer.numbers[4] *= std::max(place.scale[0], place.scale[1]);
    copy_out<double, double>(answer.vertices, out.points, 2 * out.vertices);
    for (size_t i = 0; i < answer.vertices.size(); ++i) answer.vertices[i] *= place.scale[i & 1];
    copy_out<int32_t, int64_t>(answer.offsets, out.offsets, out.regions + 1);
    copy_out<int32_t, int32_t>(answer.edges, out.incidence, out.vertices);
    std::vector<double> maps;
    if (!compose(chain, place, out, bytes, maps)) return -1;
    split_maps(maps, place);
    if (counts) {
        const FoundRegions found = found_regions(chain.layers, place, out, bytes);
        answer.merged = merge_regions(found, facet_pairs(found));
        answer.numbers[5] = answer.merged.n_linear_regions, answer.numbers[6] = answer.merged.n_affine_maps;
    }
    const int64_t cells = result.complete ? MOST_REGIONS : std::max<int64_t>(4 * out.regions, 1000);
    if (boundary && !find_boundary(chain, place, cells)) return -1;
    answer.numbers[7] = double(answer.boundary.size() / 4);
    return 0;
}

// a, b: d_in numbers each. 0, or -1.
PELLUCID_EXPORT("segment")
int32_t segment(const int32_t* whole, int32_t n_whole, const double* numbers, int32_t n_numbers,
                const float* parameters, int32_t n_parameters, const double* a, const double* b,
                int32_t d_in, double limit) {
    answer = {};
    Description from(whole, n_whole, numbers, n_numbers);
    Chain chain;
    if (!chain.read(from, parameters, n_parameters)) return -1;
    if (!need(d_in == chain.net.d_in() && finite(a, d_in) && finite(b, d_in),
              "a and b need finite numbers, one for each input of the network") ||
        !need(limit >= 1 && limit <= MOST_REGIONS, "the limit must lie between 1 and 2 million pieces"))
        return -1;
    Place place;
    place.origin.assign(a, a + d_in);
    bool apart = false;
    for (int32_t j = 0; j < d_in; ++j) {  // step + rest is exact (Knuth's TwoSum)
        const double step = b[j] - a[j], shadow = step - b[j];
        place.axes.push_back(step);
        place.rest.push_back((b[j] - (step - shadow)) - (a[j] + shadow));
        apart = apart || step != 0;
    }
    if (!need(apart && finite(place.axes.data(), d_in), "a and b are the same point, or too far apart"))
        return -1;
    place.low[0] = 0, place.high[0] = 1;
    place.set(d_in, 1);
    RegionResult result;
    if (!search(baseline::line_kernel, chain.layers, chain.n_hidden(), place, int64_t(limit), result))
        return -1;
    const RegionOutput& out = result.regions;
    tell(result, chain.switches());
    // Ends of pieces two by two; rounded breakpoints must not change places.
    const double* ends = static_cast<const double*>(out.points.data);
    const uint64_t* tight = static_cast<const uint64_t*>(out.incidence.data);
    const int32_t* facets = static_cast<const int32_t*>(out.facet_numbers.data);
    double last = 0;
    for (int64_t i = 0; i < out.regions; ++i) {
        answer.vertices.push_back(last = std::max(last, ends[2 * i]));
        if (i > 0) answer.edges.push_back(facets[2 * i + (tight[2 * i] != 1)]);
    }
    if (out.regions) answer.vertices.push_back(std::max(last, ends[2 * out.regions - 1]));
    std::vector<double> maps;
    if (!compose(chain, place, out, (chain.switches() + 7) / 8, maps)) return -1;
    split_maps(maps, place);
    return 0;
}

// Addresses: numbers, patterns, vertices, offsets, edges, slopes, intercepts, linear_region,
// affine_map, boundary, boundary_pair.
PELLUCID_EXPORT("region_results") const int32_t* region_results() {
    static int32_t at[11];
    const void* of[] = {answer.numbers, answer.patterns.data(), answer.vertices.data(),
                        answer.offsets.data(), answer.edges.data(), answer.slopes.data(),
                        answer.intercepts.data(), answer.merged.linear_region.data(),
                        answer.merged.affine_map.data(), answer.boundary.data(),
                        answer.boundary_pair.data()};
    for (int i = 0; i < 11; ++i) at[i] = address(of[i]);
    return at;
}
