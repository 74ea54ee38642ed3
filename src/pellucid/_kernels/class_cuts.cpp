#include "class_cuts.hpp"

#include <algorithm>
#include <cmath>

namespace pellucid {

namespace {

// No output is larger in size on the domain: sums of absolute values, doubled.
double output_bound(const std::vector<RegionLayer>& layers, const RegionDomain& domain) {
    std::vector<double> h(static_cast<size_t>(domain.d_in));
    for (int64_t j = 0; j < domain.d_in; ++j) {
        h[size_t(j)] = std::fabs(domain.origin[j]);
        for (int64_t d = 0; d < domain.d; ++d)
            h[size_t(j)] += std::max(std::fabs(domain.low[d]), std::fabs(domain.high[d])) *
                            std::fabs(domain.axes[d * domain.d_in + j]);
    }
    for (const RegionLayer& layer : layers) {
        double steepest = 0, highest = 0;
        for (int p = 0; p <= layer.n_kinks; ++p) {
            steepest = std::max(steepest, std::fabs(layer.slope[p]));
            highest = std::max(highest, std::fabs(layer.intercept[p]));
        }
        std::vector<double> next(static_cast<size_t>(layer.units));
        for (int64_t i = 0; i < layer.units; ++i) {
            double z = std::fabs(layer.b[i]);
            for (int64_t j = 0; j < layer.inputs; ++j)
                z += std::fabs(layer.W[i * layer.inputs + j]) * h[size_t(j)];
            next[size_t(i)] = steepest * z + highest;
        }
        h = std::move(next);
    }
    return 2 * *std::max_element(h.begin(), h.end());
}

}  // namespace

std::vector<HeadLayer> class_cuts(const std::vector<RegionLayer>& layers, const RegionDomain& domain) {
    const int32_t K = layers.back().units;
    if (K == 1) return {{1, 1, {1.0}, {0.0}}};
    const double bound = output_bound(layers, domain);
    if (!(bound < 1e300)) return {};
    int exponent;
    std::frexp(bound, &exponent);
    const double C = std::ldexp(1.0, std::max(exponent + 1, -500));
    // f_1 - f_0, then f_0 (the maximum so far), then f_2, f_3, ...; what is handed on stays positive.
    HeadLayer first{K, K, std::vector<double>(size_t(K) * size_t(K)), std::vector<double>(size_t(K), C)};
    for (int32_t i = 2; i < K; ++i) first.W[size_t(i) * size_t(K + 1)] = 1;
    first.W[0] = -1, first.W[1] = 1, first.W[size_t(K)] = 1;
    first.b[0] = 0;
    std::vector<HeadLayer> head{first};
    for (int32_t width = K - 1; width > 1; --width) {  // from (d, M, f_j, f_(j+1), ...), one longer
        const int32_t n = width + 1;
        HeadLayer layer{n, width, std::vector<double>(size_t(n) * size_t(width)),
                        std::vector<double>(size_t(width))};
        layer.W[0] = -1, layer.W[1] = -1, layer.W[2] = 1;
        layer.W[size_t(n)] = layer.W[size_t(n) + 1] = 1;
        for (int32_t i = 2; i < width; ++i) layer.W[size_t(i) * size_t(n) + size_t(i) + 1] = 1;
        head.push_back(std::move(layer));
    }
    HeadLayer& last = head.back();  // hands on nothing
    last.units = 1;
    last.W.resize(size_t(last.inputs)), last.b.resize(1);
    return head;
}

}  // namespace pellucid
