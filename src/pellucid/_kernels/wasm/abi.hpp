// What all calls of the browser's module share: how they refuse, and how they read a description.
//
// A call returns 0, or -1 with a sentence in `refusal`. Descriptions come as two arrays, whole numbers
// (int32) and numbers (double), in the order that static/engine/abi.js writes them in. Nothing throws:
// what could exhaust the memory is refused before it is allocated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "../train.hpp"

#define PELLUCID_EXPORT(name) extern "C" __attribute__((export_name("pellucid_" name)))

namespace pellucid {

constexpr int MOST_LAYERS = 64, MOST_WIDTH = 4096;
constexpr int64_t MOST_PARAMETERS = 4'000'000;
constexpr int64_t MOST_NUMBERS = 32'000'000;       // of rows, and of what a forward pass gives
constexpr int64_t MOST_BYTES = int64_t(400) << 20;  // of one run

extern std::string refusal;

inline bool refuse(const char* why) {
    refusal = why;
    return false;
}
inline bool need(bool condition, const char* otherwise) {
    return condition || refuse(otherwise);
}

inline int32_t address(const void* p) { return int32_t(reinterpret_cast<uintptr_t>(p)); }

// Memory for vectors; aligned to 64 bytes, freed with its owner.
struct Memory {
    void* data = nullptr;

    bool take(size_t bytes);
    ~Memory();
    Memory() = default;
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
};

// Reads one number after the other; past the end it gives 0 and is no longer `fine`.
class Description {
public:
    Description(const int32_t* whole, int32_t n_whole, const double* numbers, int32_t n_numbers)
        : whole_(whole), numbers_(numbers), whole_end_(whole + n_whole),
          numbers_end_(numbers + n_numbers) {}

    int32_t whole() { return whole_ < whole_end_ ? *whole_++ : (fine_ = false, 0); }
    double number() { return numbers_ < numbers_end_ ? *numbers_++ : (fine_ = false, 0.0); }
    int64_t count();  // a whole number from 0 to 2^53 among the numbers
    bool fine() const { return fine_; }

private:
    const int32_t* whole_;
    const double* numbers_;
    const int32_t* whole_end_;
    const double* numbers_end_;
    bool fine_ = true;
};

// A network without its weights.
struct Net {
    std::vector<int32_t> widths;
    std::vector<HiddenLayer> hidden;
    Likelihood likelihood{};
    std::vector<double> likelihood_parameters;

    bool read(Description& from);
    int n_layers() const { return int(widths.size()) - 1; }
    int d_in() const { return widths.front(); }
    int d_out() const { return widths.back(); }
    int64_t n_parameters() const;
    int64_t n_hidden() const;
    int per_target() const;
    int columns() const { return takes_labels(likelihood) ? 0 : d_out() / per_target(); }

    // What the kernels take of it.
    template <class Real>
    Job<Real> job() const {
        Job<Real> job{};
        job.widths = widths.data();
        job.n_layers = n_layers();
        job.hidden = hidden.data();
        job.likelihood = likelihood;
        job.likelihood_parameters = likelihood_parameters.data();
        job.n_likelihood_parameters = int32_t(likelihood_parameters.size());
        return job;
    }
};

// Rows of a table, copied.
template <class Real>
struct Table {
    std::vector<Real> X, targets;
    std::vector<int32_t> labels;
    int64_t n = 0;

    // y: labels or targets, as the likelihood takes them.
    bool read(const Net& net, const Real* inputs, const void* y, int64_t rows) {
        const int64_t columns = net.columns();
        if (!need(rows >= 1 && rows <= MOST_NUMBERS / (net.d_in() + columns + 1),
                  "there are no rows, or too many for the page; take fewer"))
            return false;
        n = rows;
        X.assign(inputs, inputs + rows * net.d_in());
        for (const Real x : X)
            if (!(x - x == 0)) return refuse("an input is not a finite number");
        if (takes_labels(net.likelihood)) return read_labels(net, static_cast<const int32_t*>(y));
        const Real* numbers = static_cast<const Real*>(y);
        targets.assign(numbers, numbers + rows * columns);
        for (const Real t : targets)
            if (!fits(net.likelihood, t)) return refuse("a target is not a number that the likelihood takes");
        return true;
    }

    Rows<Real> rows() const {
        return {X.data(), labels.empty() ? nullptr : labels.data(),
                targets.empty() ? nullptr : targets.data(), n, nullptr};
    }

private:
    bool read_labels(const Net& net, const int32_t* y) {
        labels.assign(y, y + n);
        const int32_t classes = net.d_out() + (net.likelihood == Likelihood::ordinal);
        for (const int32_t label : labels)
            if (label < 0 || label >= classes) return refuse("a label has no output of the network");
        return true;
    }

    static bool fits(Likelihood likelihood, Real t) {
        if (!(t - t == 0)) return false;
        if (likelihood == Likelihood::bernoulli) return t >= 0 && t <= 1;
        if (likelihood == Likelihood::poisson || likelihood == Likelihood::negative_binomial)
            return t >= 0 && t == Real(int64_t(t));
        return true;
    }
};

}  // namespace pellucid
