// L-BFGS (Nocedal, 1980) with a line search for the strong Wolfe conditions (Nocedal and Wright,
// 2006, algorithms 3.5, 3.6 and 7.4). Trial steps, constants and safeguards are torch's.
#pragma once

#include "arena.hpp"
#include "job.hpp"

namespace pellucid::PELLUCID_ISA {

constexpr double flat_gradient = 1e-7;  // the largest entry at which L-BFGS has converged

// Vectors are padded to n numbers; the padding is 0.
struct Lbfgs {
    int64_t m, n;
    int64_t pairs;      // made so far; pair i is in row i % m
    real *s, *y;        // (m, n): steps, and the changes of the gradient that they made
    double* sy;         // (m): s . y
    double scale;       // the inverse Hessian before the pairs: scale times the identity
    // Nothing of this outlives a step, except to save an evaluation.
    real *start, *start_gradient, *direction;
    double* alpha;      // (m)
    bool known;         // whether the gradient and these belong to the parameters
    double loss, objective;
};

inline Lbfgs plan_lbfgs(const Job& job, int64_t n, Arena& arena) {
    Lbfgs q{};
    if (job.optimizer.kind != Optimizer::lbfgs) return q;
    q.m = job.optimizer.history_size;
    q.n = n;
    q.s = arena.take<real>(q.m * n);
    q.y = arena.take<real>(q.m * n);
    q.sy = arena.take<double>(q.m);
    q.alpha = arena.take<double>(q.m);
    q.start = arena.take<real>(n);
    q.start_gradient = arena.take<real>(n);
    q.direction = arena.take<real>(n);
    q.scale = 1;
    return q;
}

inline double sum_of_sizes(const real* a, int64_t n) {
    return sum_over(n, [=](int64_t i) { return __builtin_fabs(double(a[i])); });
}

// nan where one of them is.
inline double largest_size(const real* a, int64_t n) {
    double largest = 0;
    for (int64_t i = 0; i < n; ++i) {
        const double size = __builtin_fabs(double(a[i]));
        if (size > largest || size != size) largest = size;
    }
    return largest;
}

// a += c b
inline void add(real* a, double c, const real* b, int64_t n) {
    const real factor = real(c);
    for (int64_t i = 0; i < n; i += L) store(a + i, load(a + i) + factor * load(b + i));
}

// Adds the gradient of decay / 2 |p|^2 and returns that penalty.
inline double penalize(double decay, const real* p, real* gradient, int64_t n) {
    if (decay == 0) return 0;
    add(gradient, decay, p, n);
    return decay / 2 * dot(p, p, n);
}

// direction = -H gradient, by the two loops over the pairs: newest to oldest, and back.
inline void find_direction(Lbfgs& q, const real* gradient) {
    real* d = q.direction;
    const int64_t oldest = q.pairs > q.m ? q.pairs - q.m : 0;
    for (int64_t i = 0; i < q.n; ++i) d[i] = -gradient[i];
    for (int64_t i = q.pairs - 1; i >= oldest; --i) {
        const int64_t row = i % q.m;
        q.alpha[row] = dot(q.s + row * q.n, d, q.n) / q.sy[row];
        add(d, -q.alpha[row], q.y + row * q.n, q.n);
    }
    for (int64_t i = 0; i < q.n; ++i) d[i] *= real(q.scale);
    for (int64_t i = oldest; i < q.pairs; ++i) {
        const int64_t row = i % q.m;
        const double beta = dot(q.y + row * q.n, d, q.n) / q.sy[row];
        add(d, q.alpha[row] - beta, q.s + row * q.n, q.n);
    }
}

// After a step of t along the direction; a pair without curvature is left out.
inline void add_pair(Lbfgs& q, double t, const real* gradient) {
    const int64_t row = q.pairs % q.m;
    const auto s = [&](int64_t i) { return real(t) * q.direction[i]; };
    const auto y = [&](int64_t i) { return gradient[i] - q.start_gradient[i]; };
    const double sy = sum_over(q.n, [&](int64_t i) { return double(s(i)) * double(y(i)); });
    if (!(sy > 1e-10)) return;
    for (int64_t i = 0; i < q.n; ++i) {
        q.s[row * q.n + i] = s(i);
        q.y[row * q.n + i] = y(i);
    }
    q.sy[row] = sy;
    q.scale = sy / dot(q.y + row * q.n, q.y + row * q.n, q.n);
    ++q.pairs;
}

// The objective f and its derivative along the direction, t directions from the start.
struct Point {
    double t, f, slope;
};

// Where the cubic through two points, with their slopes, is lowest between low and high; the
// middle where that is nowhere.
inline double cubic_minimum(const Point& a, const Point& b, double low, double high) {
    const double d1 = a.slope + b.slope - 3 * (a.f - b.f) / (a.t - b.t);
    const double square = d1 * d1 - a.slope * b.slope;
    const Point &left = a.t <= b.t ? a : b, &right = a.t <= b.t ? b : a;
    const double d2 = square >= 0 ? __builtin_sqrt(square) : __builtin_nan("");
    const double share = (right.slope + d2 - d1) / (right.slope - left.slope + 2 * d2);
    const double t = right.t - (right.t - left.t) * share;
    if (!(t - t == 0)) return (low + high) / 2;
    return t < low ? low : t > high ? high : t;
}

// Algorithms 3.5 (widen until a bracket is found) and 3.6 (narrow it).
template <class At>
struct LineSearch {
    static constexpr double c1 = 1e-4, c2 = 0.9, shortest = 1e-9;
    static constexpr int most = 25;
    const At& at;
    Point origin;
    double largest_change;  // of a parameter, for t = 1
    int trials = 0;

    // Also where f is not finite.
    bool too_high(const Point& p) const {
        return !(p.f <= origin.f + c1 * p.t * origin.slope);
    }
    bool flat(const Point& p) const { return __builtin_fabs(p.slope) <= -c2 * origin.slope; }
    static const Point& lower(const Point& a, const Point& b) { return b.f < a.f ? b : a; }

    Point from(double t) {
        Point before = origin, now = at(t);
        for (; trials < most; ++trials) {
            if (too_high(now) || (trials > 1 && now.f >= before.f)) return narrow(before, now);
            if (flat(now)) return now;
            if (now.slope >= 0) return narrow(before, now);
            const double next = cubic_minimum(before, now, now.t + 0.01 * (now.t - before.t),
                                              10 * now.t);
            before = now;
            now = at(next);
        }
        return lower(origin, now);
    }

    Point narrow(Point a, Point b) {
        Point low = lower(a, b), high = b.f < a.f ? a : b;
        bool near_an_end = false;
        for (; trials < most; ++trials) {
            const double left = low.t < high.t ? low.t : high.t;
            const double right = low.t < high.t ? high.t : low.t;
            if ((right - left) * largest_change < shortest) break;
            const Point now = at(inside(low, high, left, right, near_an_end));
            if (too_high(now) || now.f >= low.f) {
                high = now;
                if (high.f < low.f) high = low, low = now;
                continue;
            }
            if (flat(now)) return now;
            if (now.slope * (high.t - low.t) >= 0) high = low;
            low = now;
        }
        return low;
    }

    // The cubic's minimum; a tenth of the way in where it keeps near an end.
    static double inside(const Point& a, const Point& b, double left, double right,
                         bool& near_an_end) {
        const double t = cubic_minimum(a, b, left, right), margin = 0.1 * (right - left);
        const double to_end = right - t < t - left ? right - t : t - left;
        const bool again = near_an_end || t >= right || t <= left;
        near_an_end = to_end < margin && !again;
        if (to_end >= margin || !again) return t;
        return right - t < t - left ? right - margin : left + margin;
    }
};

// One iteration from parameters whose objective q.objective and gradient are known, to others:
// `evaluate` returns the objective at the parameters and puts its gradient in place. False, and
// nothing is changed, where no step along the direction, nor one straight down, is lower.
template <class Evaluate>
bool lbfgs_step(Lbfgs& q, double learning_rate, real* parameters, real* gradient,
                const Evaluate& evaluate) {
    const size_t bytes = sizeof(real) * size_t(q.n);
    __builtin_memcpy(q.start, parameters, bytes);
    __builtin_memcpy(q.start_gradient, gradient, bytes);
    const double objective = q.objective;
    for (;;) {
        find_direction(q, q.start_gradient);
        double at_present = 0;
        const auto at = [&](double t) -> Point {
            for (int64_t i = 0; i < q.n; ++i)
                parameters[i] = q.start[i] + real(t) * q.direction[i];
            at_present = t;
            q.objective = evaluate();
            return {t, q.objective, dot(gradient, q.direction, q.n)};
        };
        const double size = q.pairs ? 1 : sum_of_sizes(q.start_gradient, q.n);
        const double first = learning_rate * (size > 1 ? 1 / size : 1);
        const Point origin{0, objective, dot(q.start_gradient, q.direction, q.n)};
        if (origin.slope < 0) {
            LineSearch<decltype(at)> search{at, origin, largest_size(q.direction, q.n)};
            const Point found = search.from(first);
            if (found.t > 0 && found.f < objective) {
                if (at_present != found.t) at(found.t);
                add_pair(q, found.t, gradient);
                return true;
            }
        }
        __builtin_memcpy(parameters, q.start, bytes);
        if (q.pairs == 0) return false;
        q.pairs = 0;
        q.scale = 1;
    }
}

}  // namespace pellucid::PELLUCID_ISA
