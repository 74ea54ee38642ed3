// Subdivides random small networks, degenerate ones too, with every option; tools/sanitize.sh builds
// it with sanitizers. Wherever signs are exact, areas and volumes must add up, and all ways must find as
// many regions: by vertices, and by games on every cell, however small.
// usage: fuzz_regions SECONDS SEED
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <vector>

#include "region_driver.hpp"
#include "volumes.hpp"

using namespace pellucid;

namespace pellucid::PELLUCID_ISA {
extern const RegionKernel plane_kernel;
extern const RegionKernel box_kernels[N_BOX_KERNELS];
}  // namespace pellucid::PELLUCID_ISA

namespace {

struct Random {
    std::mt19937_64 bits;
    std::normal_distribution<double> gauss;

    int below(int n) { return int(bits() % uint64_t(n)); }
    double normal() { return gauss(bits); }
    double weight(int kind) {
        switch (kind) {
            case 0: return below(4) - 1;
            case 1: return normal() * std::pow(10.0, below(17) - 8);
            case 2: return (below(3) - 1) * 5e-324;
            case 3: return normal() * 1e307;
            default: return normal();
        }
    }
};

struct Network {
    std::vector<std::vector<double>> numbers;
    std::vector<RegionLayer> layers;
    int d_in = 2;
    int64_t switches = 0;

    void add(RegionLayer layer, int inputs, std::vector<double> W, std::vector<double> b) {
        layer.inputs = inputs, layer.units = int32_t(b.size());
        numbers.push_back(std::move(W));
        layer.W = numbers.back().data();
        numbers.push_back(std::move(b));
        layer.b = numbers.back().data();
        layers.push_back(layer);
        switches += layer.switches();
    }
};

RegionLayer activation(int kind) {
    RegionLayer layer{0, 0, nullptr, nullptr, 1, {0, 0}, {0, 1, 0}, {0, 0, 0}};
    if (kind == 0) layer.n_kinks = 0, layer.slope[0] = 1;
    if (kind == 1) {
        layer.n_kinks = 2;
        layer.kink[0] = layer.intercept[0] = -1, layer.kink[1] = layer.intercept[2] = 1;
    }
    if (kind == 2) layer.slope[0] = -1;
    if (kind == 3) layer.slope[0] = 0.01;
    return layer;
}

Network random_network(Random& random, int d) {
    Network network;
    network.d_in = d;
    const int n = random.below(5), kind = random.below(6);
    if (random.below(3) == 0) network.d_in += random.below(4);
    int inputs = network.d_in;
    for (int l = 0; l < n; ++l) {
        const RegionLayer layer = activation(random.below(7));
        const int units = 1 + random.below(d == 2 && random.below(6) == 0 ? 66 : d < 5 ? 7 : 4);
        std::vector<double> W, b;
        for (int i = 0; i < units * inputs; ++i) W.push_back(random.weight(kind));
        for (int i = 0; i < units; ++i) b.push_back(random.below(3) ? random.weight(kind) : 0);
        network.add(layer, inputs, std::move(W), std::move(b));
        inputs = units;
    }
    return network;
}

// One layer cuts a cell out around 0, and the next one cuts its middle, by so many units that parts may
// touch none of the cell's facets.
Network with_parts_within(Random& random, int d) {
    Network network;
    network.d_in = d;
    const int around = 2 * d + random.below(10), across = d + 1 + random.below(2);
    std::vector<double> W, b, V, c;
    for (int k = 0; k < around; ++k) {
        double squares = 0;
        for (int i = 0; i < d; ++i) W.push_back(random.normal()), squares += W.back() * W.back();
        b.push_back(0.3 * std::sqrt(squares));
    }
    for (int k = 0; k < across; ++k) {
        double at_0 = 0, squares = 0;
        std::vector<double> slope(size_t(d), 0.0);
        for (int i = 0; i < around; ++i) {
            V.push_back(random.normal());
            at_0 += V.back() * b[size_t(i)];
            for (int j = 0; j < d; ++j) slope[size_t(j)] += V.back() * W[size_t(i * d + j)];
        }
        for (const double s : slope) squares += s * s;
        c.push_back(0.03 * random.normal() * std::sqrt(squares) - at_0);
    }
    network.add(activation(4), d, std::move(W), std::move(b));
    network.add(activation(4), around, std::move(V), std::move(c));
    return network;
}

double area(const RegionOutput& regions) {
    const double* p = static_cast<const double*>(regions.points.data);
    const int64_t* offsets = static_cast<const int64_t*>(regions.offsets.data);
    double twice = 0;
    for (int64_t r = 0; r < regions.regions; ++r)
        for (int64_t i = offsets[r]; i < offsets[r + 1]; ++i) {
            const int64_t j = i + 1 < offsets[r + 1] ? i + 1 : offsets[r];
            twice += p[2 * i] * p[2 * j + 1] - p[2 * i + 1] * p[2 * j];
        }
    return twice / 2;
}

double volume(const RegionOutput& regions, int d, const RegionKernel& kernel) {
    std::vector<double> volumes(size_t(regions.regions));
    box_volumes(regions.regions, d, int(kernel.facets / 64),
                static_cast<const double*>(regions.points.data),
                static_cast<const int64_t*>(regions.offsets.data),
                static_cast<const uint64_t*>(regions.incidence.data), volumes.data());
    double sum = 0;
    for (double v : volumes) sum += v;
    return sum;
}

void fuzz(unsigned long seed) {
    const double low[5] = {-2, -1.5, -1, -1, -1}, high[5] = {1, 2, 1, 1, 0.5};
    Random random{std::mt19937_64(seed), {}};
    const bool within = random.below(3) == 0;
    const int d = within ? 2 + (random.below(4) == 0) : 1 + random.below(5);
    double whole = 1;
    for (int i = 0; i < d; ++i) whole *= high[i] - low[i];
    const Network network = within ? with_parts_within(random, d) : random_network(random, d);
    const size_t d_in = size_t(network.d_in);
    std::vector<double> origin(d_in), axes(size_t(d) * d_in);
    if (within) {
        for (size_t i = 0; i < d_in; ++i) axes[i * d_in + i] = 1;
    } else {
        for (double& x : origin) x = random.below(2) ? 0 : random.normal();
        for (double& x : axes) x = random.normal();
    }
    const RegionDomain domain{network.d_in, d, origin.data(), axes.data(), nullptr, low, high};
    int64_t regions = -1;
    for (int options = 0; options < 20; ++options) {
        const bool exact = options & 1, games = options & 4;
        const Wanted wanted = Wanted(options / 8);
        if (wanted == Wanted::patterns && d == 1) continue;
        RegionProblem problem{network.layers.data(), int32_t(network.layers.size()), domain,
                              exact, wanted, network.switches, (network.switches + 7) / 8};
        if (games) problem.games_from = 0;
        const int64_t limit = 500 + random.below(3000);
        std::vector<const RegionKernel*> kernels;
        if (d == 2 && wanted != Wanted::patterns && !games) kernels.push_back(&PELLUCID_ISA::plane_kernel);
        for (const RegionKernel& kernel : PELLUCID_ISA::box_kernels)
            if (kernel.d >= d && (kernel.d <= d + 2 || options == 1)) kernels.push_back(&kernel);
        for (const RegionKernel* kernel : kernels) {
            RegionResult result;
            find_regions(*kernel, problem, options & 2 ? 3 : 1, limit, nullptr, nullptr, &result);
            if (!exact || !result.complete) continue;
            if (regions < 0) regions = result.regions.regions;
            if (regions != result.regions.regions) {
                std::printf("seed %lu, %d dimensions: %ld regions, and %ld%s\n", seed, d,
                            long(regions), long(result.regions.regions), games ? " by games" : "");
                std::exit(1);
            }
            if (wanted != Wanted::vertices) continue;
            // Polygons fit together wherever their corners are; polytopes need corners in planes.
            if (kernel->facets > 0 && !(result.regions.vertex_error < 1e-8)) continue;
            const double sum = kernel->facets == 0 ? area(result.regions)
                                                   : volume(result.regions, d, *kernel);
            if (std::fabs(sum - whole) < (kernel->facets == 0 ? 1e-10 : 1e-6) * whole) continue;
            std::printf("seed %lu, %d dimensions: %.17g, not %.17g\n", seed, d, sum, whole);
            std::exit(1);
        }
    }
}

}  // namespace

int main(int, char** arguments) {
    const std::time_t start = std::time(nullptr);
    unsigned long seed = std::strtoul(arguments[2], nullptr, 10);
    for (; std::time(nullptr) - start < std::atoi(arguments[1]); ++seed) fuzz(seed);
    std::printf("seeds up to %lu\n", seed);
}
