#include "abi.hpp"

#include <cmath>
#include <cstdlib>

namespace pellucid {

std::string refusal;

bool Memory::take(size_t bytes) {
    std::free(data);
    data = std::aligned_alloc(64, (bytes + 127) / 64 * 64);
    return need(data != nullptr, "there is not enough memory for this; take a smaller network or fewer rows");
}

Memory::~Memory() { std::free(data); }

int64_t Description::count() {
    const double value = number();
    if (value >= 0 && value <= 9007199254740992.0) return int64_t(value);
    fine_ = false;
    return 0;
}

namespace {

bool good_head(Likelihood likelihood, const std::vector<double>& p) {
    const size_t n = p.size();
    const auto scale = [&](size_t i) { return p[i] >= 1e-12 && p[i] <= 1e12; };
    switch (likelihood) {
        case Likelihood::mean_variance: return n == 2 && p[0] >= 0 && p[0] <= 1 && scale(1);
        case Likelihood::student_t: return n == 2 && p[0] >= 0 && p[0] <= 1e12 && scale(1);
        case Likelihood::laplace: return n == 1 && scale(0);
        case Likelihood::quantile:
            for (const double level : p)
                if (!(level >= 1e-9 && level <= 1 - 1e-9)) return false;
            return n >= 1 && n <= 1000;
        case Likelihood::mixture:
            return n == 2 && p[0] >= 1 && p[0] <= 1000 && p[0] == std::floor(p[0]) && scale(1);
        default: return n == 0;
    }
}

}  // namespace

bool Net::read(Description& from) {
    const int32_t layers = from.whole();
    if (!need(layers >= 1 && layers <= MOST_LAYERS, "a network has 1 to 64 layers")) return false;
    for (int32_t l = 0; l <= layers; ++l) {
        widths.push_back(from.whole());
        if (!need(widths[size_t(l)] >= 1 && widths[size_t(l)] <= MOST_WIDTH,
                  "a layer has 1 to 4096 units"))
            return false;
    }
    for (int32_t l = 0; l + 1 < layers; ++l) {
        const int32_t activation = from.whole();
        const double a = from.number(), b = from.number();
        if (!need(activation >= 0 && activation < int32_t(Activation::count), "an activation is unknown"))
            return false;
        if (!need(a - a == 0 && b - b == 0, "a parameter of an activation is not a finite number"))
            return false;
        hidden.push_back({Activation(activation), a, b});
        if (!need(Activation(activation) != Activation::hardtanh || a < b, "hardtanh needs low < high"))
            return false;
    }
    const int32_t kind = from.whole(), n = from.whole();
    if (!need(kind >= 0 && kind < int32_t(Likelihood::count) && n >= 0 && n <= 1000,
              "the likelihood is unknown"))
        return false;
    likelihood = Likelihood(kind);
    for (int32_t i = 0; i < n; ++i) likelihood_parameters.push_back(from.number());
    return need(from.fine(), "the description of the network ends early") &&
           need(good_head(likelihood, likelihood_parameters),
                "the likelihood's parameters are out of range") &&
           need(d_out() % per_target() == 0,
                "the number of outputs is no multiple of what the likelihood takes for a target") &&
           need(likelihood != Likelihood::categorical || d_out() >= 2,
                "the categorical likelihood needs two outputs or more") &&
           need(n_parameters() <= MOST_PARAMETERS, "the network has more than 4 million parameters");
}

int64_t Net::n_parameters() const {
    int64_t total = 0;
    for (size_t l = 0; l + 1 < widths.size(); ++l)
        total += (int64_t(widths[l]) + 1) * widths[l + 1];
    return total;
}

int64_t Net::n_hidden() const {
    int64_t total = 0;
    for (size_t l = 1; l + 1 < widths.size(); ++l) total += widths[l];
    return total;
}

int Net::per_target() const {
    return outputs_per_target(likelihood, likelihood_parameters.data(),
                              int(likelihood_parameters.size()));
}

}  // namespace pellucid

using namespace pellucid;

PELLUCID_EXPORT("take") void* take(int32_t bytes) { return std::malloc(size_t(bytes)); }

PELLUCID_EXPORT("give_back") void give_back(void* data) { std::free(data); }

PELLUCID_EXPORT("refusal") const char* why() { return refusal.c_str(); }

PELLUCID_EXPORT("refusal_length") int32_t why_length() { return int32_t(refusal.size()); }

// Columns of targets that a network is for, 0 for labels; or -1.
PELLUCID_EXPORT("columns")
int32_t columns(const int32_t* whole, int32_t n_whole, const double* numbers, int32_t n_numbers) {
    Description from(whole, n_whole, numbers, n_numbers);
    Net net;
    return net.read(from) ? net.columns() : -1;
}
