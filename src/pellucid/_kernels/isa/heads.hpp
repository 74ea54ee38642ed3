// The likelihoods beyond least squares, logits and softmax: losses and gradients on one tile, as
// losses.hpp has them. Several outputs belong to one target and stand side by side.
//
// The formulas are those of the package `likelihoods`, term by term. `probe` looks at outputs and
// gradients, one of which is not finite where a loss is not.
#pragma once

#include "gamma.hpp"
#include "losses.hpp"

namespace pellucid::PELLUCID_ISA {

constexpr real half_log_2pi = 0.91893853320467274;
constexpr real largest_log = 30;  // of the shape parameters r and nu

// e^x for any x; infinite where it is too large, unlike exp.
PELLUCID_SHARED vf exp_up(vf x) {
    return select(x > C::largest_exponent, all(real(__builtin_inf())), exp(x));
}

PELLUCID_SHARED vf logistic_of(vf z) {
    const vf e = exp(-abs(z)), inverse = 1.0f / (1.0f + e);
    return select(z > 0.0f, inverse, e * inverse);
}

PELLUCID_SHARED vf softplus_of(vf z) { return max(vf{}, z) + log1p(exp(-abs(z))); }

// ln(e^low + e^t), and its derivative by t: the logarithm of a scale with a floor.
struct Floored {
    vf value, slope;
};

PELLUCID_SHARED Floored floored(vf t, vf low) {
    const vf d = t - low, e = exp(-abs(d)), inverse = 1.0f / (1.0f + e);
    return {max(low, t) + log1p(e), select(d > 0.0f, inverse, e * inverse)};
}

struct Head {
    Likelihood likelihood;
    int per_target;
    const double* parameters;
    double log_floor;  // of the scale, or of the variance
};

inline Head plan_head(const Job& job) {
    const double* p = job.likelihood_parameters;
    Head head{job.likelihood,
              outputs_per_target(job.likelihood, p, job.n_likelihood_parameters), p, 0};
    switch (job.likelihood) {
        case Likelihood::mean_variance: head.log_floor = 2 * __builtin_log(p[1]); break;
        case Likelihood::laplace: head.log_floor = __builtin_log(p[0]); break;
        case Likelihood::student_t:
        case Likelihood::mixture: head.log_floor = __builtin_log(p[1]); break;
        default: break;
    }
    return head;
}

// A row's place in a tile whose rows are R apart.
struct Tile {
    const real* z;
    const real* y;
    real* delta;
    int R;

    PELLUCID_INLINE vf output(int i) const { return load(z + int64_t(i) * R); }
    PELLUCID_INLINE vf target(int i) const { return load(y + int64_t(i) * R); }
    PELLUCID_INLINE void gradient(int i, vf g, RowLoss& row) const {
        store(delta + int64_t(i) * R, g);
        row.probe += g * 0.0f;
    }
};

template <bool LOSS>
struct MeanVariance {
    static PELLUCID_INLINE void run(const Head& h, const Tile& at, int o, int target,
                                    vf weight, RowLoss& row) {
        const vf r = at.output(o + 1), d = at.output(o) - at.target(target);
        const Floored v = floored(r, all(real(h.log_floor)));
        const vf w = exp(-v.value), q = d * d * w;
        const real beta = real(h.parameters[0]);
        if (beta != 0) weight *= exp_up(beta * v.value);
        at.gradient(o, d * w * weight, row);
        at.gradient(o + 1, 0.5f * (1.0f - q) * v.slope * weight, row);
        row.probe += r * 0.0f;
        if (LOSS) row.loss += half_log_2pi + 0.5f * (v.value + q);
    }
};

template <bool LOSS>
struct Laplace {
    static PELLUCID_INLINE void run(const Head& h, const Tile& at, int o, int target,
                                    vf weight, RowLoss& row) {
        const vf t = at.output(o + 1), d = at.output(o) - at.target(target);
        const Floored b = floored(t, all(real(h.log_floor)));
        const vf w = exp(-b.value), a = abs(d) * w;
        at.gradient(o, select(d == 0.0f, d, copy_sign(w, d)) * weight, row);
        at.gradient(o + 1, (1.0f - a) * b.slope * weight, row);
        row.probe += t * 0.0f;
        if (LOSS) row.loss += real(0.69314718055994531) + b.value + a;
    }
};

template <bool LOSS>
struct StudentT {
    static PELLUCID_INLINE void run(const Head& h, const Tile& at, int o, int target,
                                    vf weight, RowLoss& row) {
        const bool learned = h.parameters[0] == 0;
        const vf d = at.output(o) - at.target(target), t = at.output(o + 1);
        const Floored s = floored(t, all(real(h.log_floor)));
        const vf w = exp(-s.value), u = d * w, q = u * u;
        vf nu = all(real(h.parameters[0])), log_nu{};
        if (learned) {
            log_nu = at.output(o + 2);
            nu = exp(max(all(-largest_log), min(all(largest_log), log_nu)));
        }
        const vf factor = (nu + 1.0f) / (nu + q), ratio = q / nu;
        vf log_tail{};
        if (LOSS || learned) log_tail = log_near_1(ratio, 1.0f + ratio);
        at.gradient(o, factor * u * w * weight, row);
        at.gradient(o + 1, (1.0f - factor * q) * s.slope * weight, row);
        if (learned) {
            const vf x = 0.5f * nu, by_nu = x * log_tail - 0.5f * factor * q - x * half_step_slope(x);
            at.gradient(o + 2, select(abs(log_nu) > largest_log, vf{}, by_nu * weight), row);
            row.probe += log_nu * 0.0f;
        }
        row.probe += t * 0.0f;
        if (LOSS)
            row.loss += half_log_2pi - half_step(0.5f * nu) + s.value + 0.5f * (nu + 1.0f) * log_tail;
    }
};

// ln y! - y ln y + y for y > 0, and 0 for y = 0; y1 is y, or 1.
PELLUCID_SHARED vf log_factorial_rest(vi positive, vf y1, vf log_y) {
    return select(positive, half_log_2pi + 0.5f * log_y + binet(y1), vf{});
}

template <bool LOSS>
struct Poisson {
    static PELLUCID_INLINE void run(const Head&, const Tile& at, int o, int target,
                                    vf weight, RowLoss& row) {
        const vf eta = at.output(o), y = at.target(target), mu = exp_up(eta);
        at.gradient(o, (mu - y) * weight, row);
        row.probe += eta * 0.0f;
        if (LOSS) {
            const vi positive = y > 0.0f;
            const vf y1 = select(positive, y, all(1.0f)), log_y = log(y1), t = eta - log_y;
            row.loss += select(positive, y * (expm1(t) - t), mu) +
                        log_factorial_rest(positive, y1, log_y);
        }
    }
};

template <bool LOSS>
struct NegativeBinomial {
    static PELLUCID_INLINE void run(const Head&, const Tile& at, int o, int target,
                                    vf weight, RowLoss& row) {
        const vf eta = at.output(o), rho = at.output(o + 1), y = at.target(target);
        const vf mu = exp_up(eta), r = exp(max(all(-largest_log), min(all(largest_log), rho)));
        const vf all_of = r + mu, seen = r + y;
        const vf ratio = log_near_1((mu - y) / seen, all_of / seen);  // ln((r + mu) / (r + y))
        const vf u = (mu - y) / all_of;
        const vf by_rho =
            r * (ratio - u) + r * (binet_slope(r) - binet_slope(seen)) - 0.5f * y / seen;
        at.gradient(o, r * u * weight, row);
        at.gradient(o + 1, select(abs(rho) > largest_log, vf{}, by_rho * weight), row);
        row.probe += (eta + rho) * 0.0f;
        if (LOSS) {
            const vi positive = y > 0.0f;
            const vf y1 = select(positive, y, all(1.0f)), log_y = log(y1);
            const vf v = r * (y - mu) / (mu * seen);
            const vi near = abs(v) < 0.5f;
            const vf small = select(near, v, vf{});
            const vf by_count =
                y * select(near, log_near_1(small, 1.0f + small), ratio - (eta - log_y));
            const vf spread = y / r;
            row.loss += r * ratio + by_count + 0.5f * log_near_1(spread, 1.0f + spread) + binet(r) -
                        binet(seen) + log_factorial_rest(positive, y1, log_y);
        }
    }
};

template <bool LOSS>
struct Quantile {
    static PELLUCID_INLINE void run(const Head& h, const Tile& at, int o, int target,
                                    vf weight, RowLoss& row) {
        const vf y = at.target(target);
        for (int i = 0; i < h.per_target; ++i) {
            const real tau = real(h.parameters[i]);
            const vf q = at.output(o + i), u = y - q;
            at.gradient(o + i, select(u > 0.0f, all(-tau), all(1 - tau)) * weight, row);
            row.probe += q * 0.0f;
            if (LOSS) row.loss += select(u > 0.0f, tau * u, (tau - 1) * u);
        }
    }
};

// Three passes. The first leaves u = (mu - y) / s and ln s in the places of mu and t.
template <bool LOSS>
struct Mixture {
    static PELLUCID_INLINE void run(const Head& h, const Tile& at, int o, int target,
                                    vf weight, RowLoss& row) {
        const int K = h.per_target / 3;
        const vf y = at.target(target), low = all(real(h.log_floor));
        real* const delta = at.delta + int64_t(o) * at.R;
        const auto place = [&](int i) { return delta + int64_t(i) * at.R; };
        const auto joint = [&](vf a, vf u, vf log_s) { return a - log_s - 0.5f * u * u; };
        vf top{}, top_joint{};
        for (int k = 0; k < K; ++k) {
            const vf a = at.output(o + k), t = at.output(o + 2 * K + k);
            const vf log_s = floored(t, low).value;
            const vf u = (at.output(o + K + k) - y) * exp(-log_s);
            row.probe += (a + t + u) * 0.0f;
            store(place(k), a);
            store(place(K + k), u);
            store(place(2 * K + k), log_s);
            const vf j = joint(a, u, log_s);
            top = k ? max(top, a) : a;
            top_joint = k ? max(top_joint, j) : j;
        }
        vf total{}, total_joint{};
        for (int k = 0; k < K; ++k) {
            const vf a = load(place(k));
            total += exp(a - top);
            total_joint +=
                exp(joint(a, load(place(K + k)), load(place(2 * K + k))) - top_joint);
        }
        for (int k = 0; k < K; ++k) {
            const vf a = load(place(k)), u = load(place(K + k)), log_s = load(place(2 * K + k));
            const vf pi = exp(a - top) / total;
            const vf g = exp(joint(a, u, log_s) - top_joint) / total_joint;
            const vf slope = -expm1(low - log_s);  // e^t / s
            store(place(k), (pi - g) * weight);
            at.gradient(o + K + k, g * u * exp(-log_s) * weight, row);
            at.gradient(o + 2 * K + k, g * (1.0f - u * u) * slope * weight, row);
        }
        if (LOSS) row.loss += top + log(total) - top_joint - log(total_joint) + half_log_2pi;
    }
};

// K - 1 outputs z, thresholds c_0 = z_0, c_k = c_(k-1) + softplus(z_k); classes 0 .. K - 1.
template <bool LOSS>
PELLUCID_INLINE RowLoss ordinal(const real* z, int k, int R, vi label, vf weight, real* delta) {
    RowLoss row{};
    const vf zero{};
    vf c = load(z), upper = c, lower{}, step{};
    row.probe += c * 0.0f;
    for (int i = 1; i < k; ++i) {
        const vf zi = load(z + int64_t(i) * R), next = c + softplus_of(zi);
        row.probe += zi * 0.0f;
        lower = select(label == i, c, lower);
        upper = select(label == i, next, upper);
        step = select(label == i, zi, step);
        c = next;
    }
    lower = select(label == k, c, lower);
    const vi first = label == 0, last = label == k, inner = ~(first | last);
    const vf by_upper = select(last, zero, -logistic_of(-upper));
    const vf by_lower = select(first, zero, logistic_of(lower));
    if (LOSS)
        row.loss = select(last, zero, softplus_of(-upper)) + select(first, zero, softplus_of(lower)) +
                   select(inner, softplus_of(-step), zero);
    for (int i = 0; i < k; ++i) {
        const vf zi = load(z + int64_t(i) * R), s = logistic_of(zi);
        const vf above = select(label >= i, by_upper, zero) + select(label > i, by_lower, zero);
        const vf here = select(label == i, logistic_of(-zi), zero);
        store(delta + int64_t(i) * R, weight * (i ? s * above - here : above));
    }
    return row;
}

template <bool LOSS, class Each>
PELLUCID_INLINE void each_vector(int R, const Targets& y, real weight, LossSum& sum_of,
                                 const Each& each) {
    vf loss{};
    for (int at = 0; at < R; at += L) {
        const vi exists = lane_numbers() + at < y.valid;
        vf w = select(exists, all(weight), vf{});
        if (y.weights) w *= load(y.weights + at);
        RowLoss row = each(at, w);
        if (y.weights) row.loss *= load(y.weights + at);
        loss += select(exists, row.loss, vf{});
        sum_of.probe += select(exists, row.probe, vf{});
    }
    if (LOSS) sum_of.loss += sum(loss);
}

template <bool LOSS, template <bool> class Kind>
void each_target(const Head& h, const real* z, int k, int R, const Targets& y, real weight,
                 real* delta, LossSum& sum_of) {
    const int targets = k / h.per_target;
    each_vector<LOSS>(R, y, weight, sum_of, [&](int at, vf w) {
        RowLoss row{};
        const Tile tile{z + at, y.values + at, delta + at, R};
        for (int i = 0; i < targets; ++i) Kind<LOSS>::run(h, tile, i * h.per_target, i, w, row);
        return row;
    });
}

// k outputs in tiles of R rows. The kind is picked once for a tile.
template <bool LOSS>
__attribute__((noinline)) void head_losses(const Head& h, const real* z, int k, int R,
                                           const Targets& y, real weight, real* delta,
                                           LossSum& sum_of) {
    switch (h.likelihood) {
#define PELLUCID_CASE(name, Kind)                                                    \
    case Likelihood::name:                                                           \
        return each_target<LOSS, Kind>(h, z, k, R, y, weight, delta, sum_of);
        PELLUCID_CASE(mean_variance, MeanVariance)
        PELLUCID_CASE(laplace, Laplace)
        PELLUCID_CASE(student_t, StudentT)
        PELLUCID_CASE(poisson, Poisson)
        PELLUCID_CASE(negative_binomial, NegativeBinomial)
        PELLUCID_CASE(quantile, Quantile)
        PELLUCID_CASE(mixture, Mixture)
#undef PELLUCID_CASE
        case Likelihood::ordinal:
            return each_vector<LOSS>(R, y, weight, sum_of, [&](int at, vf w) {
                return ordinal<LOSS>(z + at, k, R, load_integers(y.labels + at), w, delta + at);
            });
        default: return;
    }
}

}  // namespace pellucid::PELLUCID_ISA
