#include "predict.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace pellucid {

namespace {

double logistic(double z) {
    const double e = std::exp(-std::fabs(z));
    return (z >= 0 ? 1 : e) / (1 + e);
}

double softplus(double z) { return std::fmax(z, 0) + std::log1p(std::exp(-std::fabs(z))); }

// In place.
void softmax(double* z, int64_t k) {
    const double top = *std::max_element(z, z + k);
    double total = 0;
    for (int64_t c = 0; c < k; ++c) total += z[c] = std::exp(z[c] - top);
    for (int64_t c = 0; c < k; ++c) z[c] /= total;
}

// Thresholds c_0 = z_0, c_k = c_(k-1) + softplus(z_k). The probability between two of them, the
// difference of two logistics, is s(c_k) s(-c_(k-1)) s(z_k): nothing cancels.
void ordinal(const double* z, int64_t k, double* p) {
    double lower = z[0];
    p[0] = logistic(lower);
    for (int64_t i = 1; i < k; ++i) {
        const double upper = lower + softplus(z[i]);
        p[i] = logistic(upper) * logistic(-lower) * logistic(z[i]);
        lower = upper;
    }
    p[k] = logistic(-lower);
}

// sum_k pi_k mu_k
double mixture_mean(double* z, int64_t K) {
    softmax(z, K);
    double mean = 0;
    for (int64_t k = 0; k < K; ++k) mean += z[k] * z[K + k];
    return mean;
}

}  // namespace

int64_t predicted_columns(Likelihood likelihood, const double* parameters, int n_parameters,
                          int64_t d_out) {
    if (likelihood == Likelihood::ordinal) return d_out + 1;
    if (likelihood == Likelihood::quantile) return d_out;
    return d_out / outputs_per_target(likelihood, parameters, n_parameters);
}

template <class Real>
void predict(Likelihood likelihood, const double* parameters, int n_parameters, const Real* outputs,
             int64_t n, int64_t d_out, Real* predictions) {
    const int64_t per = outputs_per_target(likelihood, parameters, n_parameters);
    const int64_t columns = predicted_columns(likelihood, parameters, n_parameters, d_out);
    std::vector<double> z(static_cast<size_t>(d_out)), p(static_cast<size_t>(columns));
    for (int64_t r = 0; r < n; ++r) {
        for (int64_t i = 0; i < d_out; ++i) z[size_t(i)] = outputs[r * d_out + i];
        for (int64_t c = 0; c < columns; ++c) p[size_t(c)] = z[size_t(c * per < d_out ? c * per : 0)];
        switch (likelihood) {
            case Likelihood::categorical:
                softmax(p.data(), columns);
                break;
            case Likelihood::bernoulli:
                for (double& x : p) x = logistic(x);
                break;
            case Likelihood::poisson:
            case Likelihood::negative_binomial:
                for (double& x : p) x = std::exp(x);
                break;
            case Likelihood::ordinal: ordinal(z.data(), d_out, p.data()); break;
            case Likelihood::quantile:
                p = z;
                for (int64_t at = 0; at < d_out; at += per)
                    std::sort(p.begin() + long(at), p.begin() + long(at + per));
                break;
            case Likelihood::mixture:
                for (int64_t c = 0; c < columns; ++c)
                    p[size_t(c)] = mixture_mean(z.data() + c * per, per / 3);
                break;
            default: break;  // the first output of each target is its mean, or median
        }
        for (int64_t c = 0; c < columns; ++c) predictions[r * columns + c] = Real(p[size_t(c)]);
    }
}

template void predict(Likelihood, const double*, int, const float*, int64_t, int64_t, float*);
template void predict(Likelihood, const double*, int, const double*, int64_t, int64_t, double*);

}  // namespace pellucid
