// Forward passes for pictures, and one worked pass with every number, for networks of their own.
#include <cmath>
#include <cstring>

#include "../predict.hpp"
#include "abi.hpp"
#include "passes.hpp"

namespace pellucid {
namespace {

// The numbers of all layers one after the other, and where each begins.
template <class Real>
struct Layered {
    std::vector<Real> numbers;
    std::vector<Real*> at;

    void room(const Net& net, int first, int last, int64_t n) {
        size_t size = 0;
        for (int l = first; l <= last; ++l) size += size_t(net.widths[size_t(l)]) * size_t(n);
        numbers.assign(size, 0);
        at.clear();
        Real* next = numbers.data();
        for (int l = first; l <= last; ++l)
            at.push_back(next), next += int64_t(net.widths[size_t(l)]) * n;
    }
    Real* const* pointers() const { return at.data(); }
};

template <class Real>
const Passes<Real>& passes_of();
template <>
const Passes<float>& passes_of() { return baseline::passes; }
template <>
const Passes<double>& passes_of() { return baseline_double::passes; }

// A net, its parameters and rows, checked.
template <class Real>
struct Question {
    Net net;
    Job<Real> job{};
    Memory workspace;

    bool ask(Description& from, const Real* parameters, int32_t n_parameters, const Real* X, int64_t n) {
        if (!net.read(from)) return false;
        const int64_t each = net.d_in() + 3 * net.n_hidden() + 3 * int64_t(net.d_out());
        if (!need(n_parameters == net.n_parameters(),
                  "the number of parameters does not belong to these widths") ||
            !need(n >= 1 && n <= MOST_NUMBERS / each, "there are no rows, or too many at once"))
            return false;
        for (int64_t i = 0; i < n * net.d_in(); ++i)
            if (!(X[i] - X[i] == 0)) return refuse("an input is not a finite number");
        for (int32_t i = 0; i < n_parameters; ++i)
            if (!(parameters[i] - parameters[i] == 0)) return refuse("a parameter is not a finite number");
        job = net.job<Real>();
        return workspace.take(passes_of<Real>().workspace_bytes(job));
    }

    int64_t predict_from(const Real* logits, int64_t n, std::vector<Real>& mean) const {
        const double* p = net.likelihood_parameters.data();
        const int k = int(net.likelihood_parameters.size());
        const int64_t columns = predicted_columns(net.likelihood, p, k, net.d_out());
        mean.resize(size_t(n * columns));
        predict(net.likelihood, p, k, logits, n, net.d_out(), mean.data());
        return columns;
    }
};

Layered<float> z_of_rows, h_of_rows;
std::vector<float> mean_of_rows;

struct WorkedNumbers {
    Layered<double> z, h, slopes, delta, dh;
    std::vector<double> gradient, input_gradient, mean;
    double loss = 0;
};
WorkedNumbers worked_now;

// (n, k) = delta (n, m) W (m, k)
void back(const double* delta, const double* W, int64_t n, int64_t m, int64_t k, double* out) {
    for (int64_t r = 0; r < n; ++r)
        for (int64_t i = 0; i < k; ++i) {
            double sum = 0;
            for (int64_t o = 0; o < m; ++o) sum += delta[r * m + o] * W[o * k + i];
            out[r * k + i] = sum;
        }
}

// dW (m, k) = delta^T h and db (m), over n rows.
void weigh(const double* delta, const double* h, int64_t n, int64_t m, int64_t k, double* dW) {
    for (int64_t o = 0; o < m; ++o) {
        double bias = 0;
        for (int64_t i = 0; i < k; ++i) {
            double sum = 0;
            for (int64_t r = 0; r < n; ++r) sum += delta[r * m + o] * h[r * k + i];
            dW[o * k + i] = sum;
        }
        for (int64_t r = 0; r < n; ++r) bias += delta[r * m + o];
        dW[m * k + o] = bias;
    }
}

// The delta recursion (Rumelhart, Hinton and Williams 1986) from delta of the outputs down.
void work_back(const Net& net, const double* parameters, const double* X, int64_t n) {
    WorkedNumbers& w = worked_now;
    const int L = net.n_layers();
    int64_t end = net.n_parameters();
    for (int l = L - 1; l >= 0; --l) {
        const int64_t m = net.widths[size_t(l) + 1], k = net.widths[size_t(l)];
        const int64_t offset = end - (k + 1) * m;
        const double* delta = w.delta.at[size_t(l)];
        weigh(delta, l ? w.h.at[size_t(l) - 1] : X, n, m, k, w.gradient.data() + offset);
        double* dh = l ? w.dh.at[size_t(l) - 1] : w.input_gradient.data();
        back(delta, parameters + offset, n, m, k, dh);
        for (int64_t i = 0; l && i < n * k; ++i)
            w.delta.at[size_t(l) - 1][i] = dh[i] * w.slopes.at[size_t(l) - 1][i];
        end = offset;
    }
}

}  // namespace
}  // namespace pellucid

using namespace pellucid;

// Columns of the mean, or -1. units: hidden representations too.
PELLUCID_EXPORT("forward")
int32_t forward(const int32_t* whole, int32_t n_whole, const double* numbers, int32_t n_numbers,
                const float* parameters, int32_t n_parameters, const float* X, int32_t n,
                int32_t units) {
    Description from(whole, n_whole, numbers, n_numbers);
    Question<float> question;
    if (!question.ask(from, parameters, n_parameters, X, n)) return -1;
    const Net& net = question.net;
    const int L = net.n_layers();
    z_of_rows.room(net, units ? 1 : L, L, n);
    h_of_rows.room(net, 1, units ? L - 1 : 0, n);
    std::vector<float*> z(size_t(L), nullptr);
    for (int l = 0; l < L && units; ++l) z[size_t(l)] = z_of_rows.at[size_t(l)];
    z[size_t(L) - 1] = z_of_rows.at.back();
    passes_of<float>().forward(question.job, question.workspace.data, parameters, X, n, z.data(),
                               units ? h_of_rows.pointers() : nullptr, nullptr);
    return int32_t(question.predict_from(z_of_rows.at.back(), n, mean_of_rows));
}

// Addresses: z of all layers (or the logits alone), h, mean.
PELLUCID_EXPORT("forward_results") const int32_t* forward_results() {
    static int32_t at[3];
    at[0] = address(z_of_rows.numbers.data()), at[1] = address(h_of_rows.numbers.data());
    at[2] = address(mean_of_rows.data());
    return at;
}

// Columns of the mean, or -1. y: labels, or targets (n, columns) in double.
PELLUCID_EXPORT("worked")
int32_t worked(const int32_t* whole, int32_t n_whole, const double* numbers, int32_t n_numbers,
               const double* parameters, int32_t n_parameters, const double* X, const void* y,
               int32_t n) {
    Description from(whole, n_whole, numbers, n_numbers);
    Question<double> question;
    if (!question.ask(from, parameters, n_parameters, X, n)) return -1;
    const Net& net = question.net;
    Table<double> table;
    if (!table.read(net, X, y, n)) return -1;
    WorkedNumbers& w = worked_now;
    const int L = net.n_layers();
    w.z.room(net, 1, L, n), w.delta.room(net, 1, L, n);
    for (Layered<double>* of : {&w.h, &w.slopes, &w.dh}) of->room(net, 1, L - 1, n);
    w.gradient.assign(size_t(n_parameters), 0);
    w.input_gradient.assign(size_t(n) * size_t(net.d_in()), 0);
    const Passes<double>& passes = passes_of<double>();
    void* memory = question.workspace.data;
    passes.forward(question.job, memory, parameters, X, n, w.z.pointers(), w.h.pointers(),
                   w.slopes.pointers());
    w.loss = passes.loss(question.job, memory, table.rows(), w.z.at.back(), w.delta.at.back());
    if (!need(w.loss - w.loss == 0, "numbers of this pass are too large; give smaller inputs or weights"))
        return -1;
    work_back(net, parameters, X, n);
    return int32_t(question.predict_from(w.z.at.back(), n, w.mean));
}

// Addresses: z, h, slopes, delta, dh (layer after layer), gradient (flat), by the inputs, mean, loss.
PELLUCID_EXPORT("worked_results") const int32_t* worked_results() {
    static int32_t at[9];
    WorkedNumbers& w = worked_now;
    const Layered<double>* layered[] = {&w.z, &w.h, &w.slopes, &w.delta, &w.dh};
    for (int i = 0; i < 5; ++i) at[i] = address(layered[i]->numbers.data());
    at[5] = address(w.gradient.data()), at[6] = address(w.input_gradient.data());
    at[7] = address(w.mean.data()), at[8] = address(&w.loss);
    return at;
}
