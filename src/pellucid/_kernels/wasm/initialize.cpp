#include "../draws.hpp"
#include "abi.hpp"

using namespace pellucid;

namespace {
std::vector<float> drawn;
}

// How many parameters, or -1; `initial_parameters` says where.
PELLUCID_EXPORT("initialize")
int32_t initialize(int32_t scheme, const int32_t* widths, int32_t n_layers, uint32_t seed_low,
                   uint32_t seed_high) {
    if (!need(scheme >= 0 && scheme < int32_t(Scheme::count), "the scheme is unknown") ||
        !need(n_layers >= 1 && n_layers <= MOST_LAYERS, "a network has 1 to 64 layers"))
        return -1;
    int64_t total = 0;
    for (int l = 0; l <= n_layers; ++l)
        if (!need(widths[l] >= 1 && widths[l] <= MOST_WIDTH, "a layer has 1 to 4096 units")) return -1;
    for (int l = 0; l < n_layers; ++l) total += (int64_t(widths[l]) + 1) * widths[l + 1];
    if (!need(total <= MOST_PARAMETERS, "the network has more than 4 million parameters")) return -1;
    drawn.resize(size_t(total));
    draw_parameters(Scheme(scheme), widths, n_layers, uint64_t(seed_high) << 32 | seed_low, drawn.data());
    return int32_t(total);
}

PELLUCID_EXPORT("initial_parameters") const float* initial_parameters() { return drawn.data(); }
