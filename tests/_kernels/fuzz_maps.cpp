// Composes the maps of random patterns of random layers on exactly sized arrays, and compares them with
// the textbook's products; pairs random facets of them, and compares with a search through all pairs.
// tools/sanitize.sh builds it with sanitizers. usage: fuzz_maps SECONDS SEED
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <vector>

#include "compose_maps.hpp"
#include "pair_facets.hpp"

using namespace pellucid;

namespace pellucid::PELLUCID_ISA { extern const ComposeKernel compose_kernel; }

namespace {

using Numbers = std::vector<double>;
using Bytes = std::vector<uint8_t>;

struct Random {
    std::mt19937_64 bits;
    std::normal_distribution<double> gauss;

    int below(int n) { return int(bits() % uint64_t(n)); }
    Numbers normals(int64_t n) {
        Numbers x;
        x.reserve(size_t(n));  // exactly, so that one step beyond is seen
        for (int64_t i = 0; i < n; ++i) x.push_back(below(8) ? gauss(bits) : 0);
        return x;
    }
};

RegionLayer activation(Random& random) {
    RegionLayer layer{0, 0, nullptr, nullptr, 1, {0, 0}, {0, 1, 0}, {0, 0, 0}};  // relu
    switch (random.below(6)) {
        case 0: layer.n_kinks = 0, layer.slope[0] = 1; break;
        case 1: layer.n_kinks = 2, layer.intercept[0] = -1, layer.intercept[2] = 1; break;
        case 2: layer.slope[0] = -1; break;
        case 3: layer.slope[0] = 0.01; break;
    }
    return layer;
}

// Patterns of n regions: mostly a few switches away from the one before.
Bytes patterns(Random& random, int64_t n, int64_t switches) {
    const int64_t bytes = (switches + 7) / 8;
    Bytes all(size_t(n * bytes), 0);
    for (int64_t r = 0; r < n; ++r) {
        uint8_t* now = all.data() + r * bytes;
        for (int64_t i = 0; r > 0 && i < bytes; ++i) now[i] = now[i - bytes];
        const int64_t flips = random.below(5) ? random.below(4) : switches;
        for (int64_t k = 0; k < flips && switches; ++k) {
            const int64_t at = random.below(int(switches));
            now[at >> 3] ^= uint8_t(1 << (at & 7));
        }
    }
    return all;
}

// z, and a bound on its size under any pattern, for all units and d + 1 columns.
struct Map {
    Numbers z, bound;
};

Map affine(const double* W, const double* b, int64_t units, int64_t inputs, int64_t columns,
           const Map& h) {
    Map out{Numbers(size_t(units * columns)), Numbers(size_t(units * columns))};
    for (int64_t i = 0; i < units; ++i)
        for (int64_t c = 0; c < columns; ++c) {
            const double start = c == columns - 1 ? b[i] : 0;
            double z = start, bound = std::fabs(start);
            for (int64_t j = 0; j < inputs; ++j) {
                z += W[i * inputs + j] * h.z[size_t(j * columns + c)];
                bound += std::fabs(W[i * inputs + j]) * h.bound[size_t(j * columns + c)];
            }
            out.z[size_t(i * columns + c)] = z, out.bound[size_t(i * columns + c)] = bound;
        }
    return out;
}

Map activate(const RegionLayer& layer, const uint8_t* pattern, int64_t first, int64_t columns,
             Map map) {
    for (int64_t i = 0; i < layer.units; ++i) {
        int at = 0;
        for (int64_t k = first + i * layer.n_kinks; k < first + (i + 1) * layer.n_kinks; ++k)
            at += pattern[k >> 3] >> (k & 7) & 1;
        for (int64_t c = 0; c < columns; ++c) {
            const size_t to = size_t(i * columns + c);
            map.z[to] *= layer.slope[at];
            if (c == columns - 1) map.z[to] += layer.intercept[at], map.bound[to] += 1;
        }
    }
    return map;
}

bool near(double found, double expected, double bound) {
    return std::fabs(found - expected) <= 1e-11 * bound;
}

// The largest norm of a column.
double norm(const Numbers& z, int64_t columns) {
    double largest = 0;
    for (int64_t c = 0; c < columns; ++c) {
        double sum = 0;
        for (size_t i = size_t(c); i < z.size(); i += size_t(columns)) sum += z[i] * z[i];
        largest = std::fmax(largest, sum);
    }
    return std::sqrt(largest);
}

bool right(const ComposeProblem& problem, int64_t r, const double* map, const double* norms) {
    const uint8_t* pattern = problem.patterns + r * problem.bytes;
    const int64_t columns = problem.d + 1;
    int64_t first = 0, inputs = problem.layers[0].units;
    Map now{Numbers(size_t(inputs * columns)), Numbers(size_t(inputs * columns))};
    for (int64_t i = 0; i < inputs; ++i)
        for (int64_t c = 0; c < columns; ++c) {
            const double z = problem.first_map[c * inputs + i];
            now.z[size_t(i * columns + c)] = z, now.bound[size_t(i * columns + c)] = std::fabs(z);
        }
    for (int32_t l = 0; l < problem.n_layers; ++l) {
        const RegionLayer& layer = problem.layers[l];
        if (l > 0) now = affine(layer.W, layer.b, layer.units, inputs, columns, now);
        if (!near(norms[l], norm(now.z, columns), norm(now.bound, columns))) return false;
        now = activate(layer, pattern, first, columns, now);
        first += layer.switches(), inputs = layer.units;
    }
    now = affine(problem.output_weight, problem.output_bias, problem.d_out, inputs, columns, now);
    for (int64_t i = 0; i < problem.d_out * columns; ++i)
        if (!near(map[i], now.z[size_t(i)], now.bound[size_t(i)])) return false;
    return true;
}

// Every facet's partner is the first free one before it that differs in its switch alone.
bool facets_pair(Random& random, const Bytes& of_regions, int64_t n, int64_t switches) {
    const int64_t bytes = (switches + 7) / 8;
    std::vector<int64_t> offsets{0}, region;
    std::vector<int32_t> along;
    for (int64_t r = 0; r < n; ++r) {
        for (int k = random.below(6); k > 0; --k) {
            along.push_back(random.below(int(switches) + 2) - 2);
            region.push_back(r);
        }
        offsets.push_back(int64_t(along.size()));
    }
    along.shrink_to_fit();
    std::vector<int64_t> partner(along.size(), -1);
    size_t pairs = 0, alone = 0;
    for (size_t j = 0; j < along.size(); ++j)
        for (size_t i = 0; i < j && partner[j] < 0; ++i) {
            if (along[j] < 0 || along[i] != along[j] || partner[i] >= 0) continue;
            bool one = true;
            for (int64_t b = 0; b < bytes; ++b) {
                const int flipped = along[j] >> 3 == b ? 1 << (along[j] & 7) : 0;
                one = one && (of_regions[size_t(region[i] * bytes + b)] ^
                              of_regions[size_t(region[j] * bytes + b)]) == flipped;
            }
            if (one) partner[i] = int64_t(j), partner[j] = int64_t(i), ++pairs;
        }
    for (size_t j = 0; j < along.size(); ++j) alone += along[j] >= 0 && partner[j] < 0;
    const FacetPairs found = pair_facets({of_regions.data(), n, bytes, offsets.data(), along.data()});
    if (found.pairs.size() != 2 * pairs || found.regions.size() != 2 * pairs) return false;
    for (size_t k = 0; k < 2 * pairs; ++k)
        if (partner[size_t(found.pairs[k])] != found.pairs[k ^ 1] ||
            region[size_t(found.pairs[k])] != found.regions[k])
            return false;
    return found.alone.size() == alone;
}

bool one_problem(Random& random) {
    const int n_layers = 1 + random.below(4), d = random.below(8) ? random.below(5) : 35;
    const int d_out = 1 + random.below(4);
    std::vector<Numbers> numbers;
    std::vector<RegionLayer> layers;
    const auto keep = [&](int64_t n) {
        numbers.push_back(random.normals(n));
        return numbers.back().data();
    };
    int64_t switches = 0;
    for (int l = 0; l < n_layers; ++l) {
        RegionLayer layer = activation(random);
        layer.inputs = l ? layers.back().units : d;
        layer.units = 1 + random.below(random.below(5) ? 20 : 150);
        layer.W = keep(int64_t(layer.units) * layer.inputs);
        layer.b = keep(layer.units);
        switches += layer.switches();
        layers.push_back(layer);
    }
    const int64_t n = random.below(100), last = layers.back().units;
    const Bytes of_regions = patterns(random, n, switches);
    const double* first_map = keep(int64_t(d + 1) * layers[0].units);
    const double* output_weight = keep(d_out * last);
    const ComposeProblem problem{layers.data(), n_layers, d, first_map, d_out, output_weight,
                                 keep(d_out), of_regions.data(), n, (switches + 7) / 8};
    Numbers maps(size_t(n * d_out * (d + 1))), norms(size_t(n * n_layers));
    if (!PELLUCID_ISA::compose_kernel.compose(problem, maps.data(), norms.data())) return false;
    for (int64_t r = 0; r < n; ++r)
        if (!right(problem, r, maps.data() + r * d_out * (d + 1), norms.data() + r * n_layers))
            return false;
    return facets_pair(random, of_regions, n, switches);
}

}  // namespace

int main(int, char** arguments) {
    const std::time_t start = std::time(nullptr);
    unsigned long seed = std::strtoul(arguments[2], nullptr, 10);
    for (; std::time(nullptr) - start < std::atoi(arguments[1]); ++seed) {
        Random random{std::mt19937_64(seed), {}};
        if (!one_problem(random)) {
            std::printf("seed %lu: a map or a pair is wrong\n", seed);
            return 1;
        }
    }
    std::printf("seeds up to %lu\n", seed);
}
