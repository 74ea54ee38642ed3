// Subdivides random small networks, degenerate ones too, with every option; tools/sanitize.sh builds
// it with sanitizers. Areas and volumes must add up wherever signs are exact.
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
        RegionLayer layer = activation(random.below(7));
        layer.inputs = inputs;
        layer.units = 1 + random.below(d == 2 && random.below(6) == 0 ? 66 : d < 5 ? 7 : 4);
        std::vector<double> W, b;
        for (int i = 0; i < layer.units * inputs; ++i) W.push_back(random.weight(kind));
        for (int i = 0; i < layer.units; ++i) b.push_back(random.below(3) ? random.weight(kind) : 0);
        network.numbers.push_back(std::move(W));
        layer.W = network.numbers.back().data();
        network.numbers.push_back(std::move(b));
        layer.b = network.numbers.back().data();
        network.layers.push_back(layer);
        network.switches += layer.switches();
        inputs = layer.units;
    }
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
    const int d = 1 + random.below(5);
    double whole = 1;
    for (int i = 0; i < d; ++i) whole *= high[i] - low[i];
    const Network network = random_network(random, d);
    const size_t d_in = size_t(network.d_in);
    std::vector<double> origin(d_in), axes(size_t(d) * d_in);
    for (double& x : origin) x = random.below(2) ? 0 : random.normal();
    for (double& x : axes) x = random.normal();
    const RegionDomain domain{network.d_in, d, origin.data(), axes.data(), nullptr, low, high};
    int64_t regions = -1;
    for (int options = 0; options < 12; ++options) {
        const bool exact = options & 1;
        const Wanted wanted = Wanted(options / 4);
        if (wanted == Wanted::patterns && d == 1) continue;
        const RegionProblem problem{network.layers.data(), int32_t(network.layers.size()), domain,
                                    exact, wanted, network.switches, (network.switches + 7) / 8};
        const int64_t limit = 500 + random.below(3000);
        std::vector<const RegionKernel*> kernels;
        if (d == 2 && wanted != Wanted::patterns) kernels.push_back(&PELLUCID_ISA::plane_kernel);
        for (const RegionKernel& kernel : PELLUCID_ISA::box_kernels)
            if (kernel.d >= d && (kernel.d <= d + 2 || options == 1)) kernels.push_back(&kernel);
        for (const RegionKernel* kernel : kernels) {
            RegionResult result;
            find_regions(*kernel, problem, options & 2 ? 3 : 1, limit, nullptr, nullptr, &result);
            if (!exact || !result.complete) continue;
            if (regions < 0) regions = result.regions.regions;
            if (regions != result.regions.regions) {
                std::printf("seed %lu, %d dimensions: %ld regions, and %ld\n", seed, d, long(regions),
                            long(result.regions.regions));
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
