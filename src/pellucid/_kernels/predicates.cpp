#include "predicates.hpp"

#include <algorithm>

namespace pellucid {

namespace {

std::vector<Dyadic> exact(const double* values, int64_t n) {
    std::vector<Dyadic> result;
    result.reserve(size_t(n));
    for (int64_t i = 0; i < n; ++i) result.emplace_back(values[i]);
    return result;
}

bool all_zero(const double* values, int64_t n) {
    return std::all_of(values, values + n, [](double v) { return v == 0; });
}

// Arithmetic modulo the prime 2^61 - 1.
constexpr uint64_t PRIME = (uint64_t(1) << 61) - 1;

uint64_t times(uint64_t a, uint64_t b) {
    const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
    const uint64_t sum = uint64_t(product & PRIME) + uint64_t(product >> 61);
    return sum >= PRIME ? sum - PRIME : sum;
}

uint64_t inverse(uint64_t a) {  // a^(p - 2)
    uint64_t result = 1;
    for (uint64_t e = PRIME - 2; e; e >>= 1, a = times(a, a))
        if (e & 1) result = times(result, a);
    return result;
}

// The first d rows whose slopes are independent. Gaussian elimination modulo a prime tells: what is
// independent there is so in truth. The converse fails for one in 10^18 by chance; then every choice
// is tried.
std::vector<std::vector<Dyadic>> independent(const std::vector<std::vector<Dyadic>>& rows, int d) {
    std::vector<std::vector<uint64_t>> reduced;
    std::vector<size_t> pivots, chosen;
    for (size_t i = 0; i < rows.size() && chosen.size() < size_t(d); ++i) {
        std::vector<uint64_t> row;
        for (int k = 0; k < d; ++k) row.push_back(rows[i][size_t(k)].residue());
        for (size_t r = 0; r < reduced.size(); ++r) {
            const uint64_t factor = row[pivots[r]];
            for (size_t k = 0; k < row.size(); ++k)
                row[k] = (row[k] + PRIME - times(factor, reduced[r][k])) % PRIME;
        }
        const auto pivot = std::find_if(row.begin(), row.end(), [](uint64_t x) { return x != 0; });
        if (pivot == row.end()) continue;
        pivots.push_back(size_t(pivot - row.begin()));
        const uint64_t scale = inverse(*pivot);
        for (uint64_t& x : row) x = times(x, scale);
        reduced.push_back(std::move(row));
        chosen.push_back(i);
    }
    std::vector<bool> taken(rows.size());
    if (chosen.size() == size_t(d)) {
        for (size_t i : chosen) taken[i] = true;
    } else {
        std::fill(taken.begin(), taken.begin() + d, true);
    }
    for (;;) {
        std::vector<std::vector<Dyadic>> result;
        for (size_t i = 0; i < rows.size(); ++i)
            if (taken[i]) result.push_back(rows[i]);
        if (chosen.size() == size_t(d)) return result;
        std::vector<const Dyadic*> pointers;
        for (const auto& row : result) pointers.push_back(row.data());
        if (determinant_sign(pointers, d) != 0) return result;
        if (!std::prev_permutation(taken.begin(), taken.end())) return result;
    }
}

}  // namespace

ExactPredicates::ExactPredicates(const RegionLayer* layers, int32_t n_layers,
                                 const RegionDomain& domain)
    : layers_(layers), n_layers_(n_layers), d_(domain.d), d_in_(domain.d_in),
      origin_(exact(domain.origin, domain.d_in)),
      axes_(exact(domain.axes, int64_t(domain.d) * domain.d_in)),
      low_(exact(domain.low, domain.d)), high_(exact(domain.high, domain.d)),
      exact_(size_t(n_layers)) {
    for (size_t i = 0; domain.rest && i < axes_.size(); ++i) axes_[i].add(Dyadic(domain.rest[i]));
    through_origin_ = all_zero(domain.origin, domain.d_in);
    for (int32_t l = 0; l < n_layers; ++l) {
        const RegionLayer& layer = layers[l];
        through_origin_ = through_origin_ && all_zero(layer.b, layer.units) &&
                          all_zero(layer.kink, layer.n_kinks) &&
                          all_zero(layer.intercept, layer.n_kinks + 1);
    }
}

// Drops the rows of layers up to `layer` that were composed under another pattern.
void ExactPredicates::refresh(const uint64_t* const* patterns, int32_t layer) {
    patterns_ = patterns;
    for (int32_t l = 0; l <= layer; ++l) {
        const RegionLayer& of = layers_[l];
        Layer& x = exact_[size_t(l)];
        if (x.b.empty()) {
            x.b = exact(of.b, of.units);
            x.kink = exact(of.kink, of.n_kinks);
            x.slope = exact(of.slope, of.n_kinks + 1);
            x.intercept = exact(of.intercept, of.n_kinks + 1);
            x.z.assign(size_t(of.units), {});
            x.h.assign(size_t(of.units), {});
        }
        if (l == 0) continue;
        Layer& before = exact_[size_t(l) - 1];
        const size_t words = (size_t(layers_[l - 1].switches()) + 63) / 64;
        const bool flipped = x.pattern.size() != words ||
                             !std::equal(x.pattern.begin(), x.pattern.end(), patterns[l - 1]);
        if (!flipped && x.built_on == before.version) continue;
        x.pattern.assign(patterns[l - 1], patterns[l - 1] + words);
        x.built_on = before.version;
        ++x.version;
        for (Row& h : before.h) h.clear();
        for (Row& z : x.z) z.clear();
        for (Row& h : x.h) h.clear();
    }
}

const ExactPredicates::Row& ExactPredicates::preactivation(int32_t layer, int32_t unit) {
    Layer& x = exact_[size_t(layer)];
    Row& z = x.z[size_t(unit)];
    if (!z.empty()) return z;
    Row row(size_t(d_) + 1);
    const int32_t inputs = layers_[layer].inputs;
    const double* W = layers_[layer].W + int64_t(unit) * inputs;
    row[size_t(d_)] = x.b[size_t(unit)];
    for (int32_t j = 0; j < inputs; ++j) {
        if (W[j] == 0) continue;
        const Dyadic w(W[j]);
        if (layer == 0) {
            for (int32_t i = 0; i < d_; ++i)
                row[size_t(i)].add_product(w, axes_[size_t(i) * size_t(d_in_) + size_t(j)]);
            row[size_t(d_)].add_product(w, origin_[size_t(j)]);
        } else {
            const Row& h = output(layer - 1, j);
            for (int32_t i = 0; i <= d_; ++i) row[size_t(i)].add_product(w, h[size_t(i)]);
        }
    }
    z = std::move(row);
    return z;
}

// A unit's piece: how many of its kinks it is above.
const ExactPredicates::Row& ExactPredicates::output(int32_t layer, int32_t unit) {
    Layer& x = exact_[size_t(layer)];
    Row& h = x.h[size_t(unit)];
    if (!h.empty()) return h;
    const int32_t kinks = layers_[layer].n_kinks;
    size_t piece = 0;
    for (int32_t k = 0; k < kinks; ++k) piece += bit(patterns_[layer], int64_t(unit) * kinks + k);
    Row row(size_t(d_) + 1);
    if (!x.slope[piece].is_zero()) {
        const Row& z = preactivation(layer, unit);
        for (size_t i = 0; i < row.size(); ++i) row[i] = x.slope[piece] * z[i];
    }
    row.back().add(x.intercept[piece]);
    h = std::move(row);
    return h;
}

const std::vector<Dyadic>& ExactPredicates::affine(const uint64_t* const* patterns, int32_t layer,
                                                   int32_t unit) {
    refresh(patterns, layer);
    return preactivation(layer, unit);
}

ExactPredicates::Row ExactPredicates::hyperplane(LineId id) {
    if (id.is_side()) {
        Row row(size_t(d_) + 1);
        const size_t axis = size_t(~id.index) / 2;
        row[axis] = Dyadic(1.0);
        row.back() = (~id.index & 1 ? high_ : low_)[axis].negated();
        return row;
    }
    const int32_t kinks = layers_[id.layer].n_kinks;
    Row row = preactivation(id.layer, id.index / kinks);
    row.back().add(exact_[size_t(id.layer)].kink[size_t(id.index % kinks)], true);
    return row;
}

std::vector<ExactPredicates::Row> ExactPredicates::meeting(const uint64_t* const* patterns,
                                                           const LineId* through, int32_t n,
                                                           const LineId* also) {
    int32_t last = also ? also->layer : -1;
    bool sides = also && also->is_side();
    for (int32_t i = 0; i < n; ++i) {
        last = std::max(last, through[i].layer);
        sides = sides || through[i].is_side();
    }
    std::vector<Row> planes;
    if (through_origin_ && !sides) return planes;
    refresh(patterns, last);
    for (int32_t i = 0; i < n; ++i) planes.push_back(hyperplane(through[i]));
    if (n > d_) planes = independent(planes, d_);
    return planes;
}

int ExactPredicates::sign(const uint64_t* const* patterns, const LineId* through, int32_t n,
                          LineId of) {
    std::vector<Row> planes = meeting(patterns, through, n, &of);
    if (planes.empty()) return 0;
    planes.push_back(hyperplane(of));
    std::vector<const Dyadic*> rows;
    for (const Row& row : planes) rows.push_back(row.data());
    // Schur's complement: det [A c; a e] = det(A) (e - a A^-1 c) = det(A) s(V), V = -A^-1 c.
    const int whole = determinant_sign(rows, d_ + 1);
    return whole == 0 ? 0 : whole * determinant_sign(rows, d_);
}

// Cramer: V_j is det [A with -c for column j] / det A.
void ExactPredicates::point(const uint64_t* const* patterns, const LineId* through, int32_t n,
                            double* x) {
    std::vector<Row> planes = meeting(patterns, through, n, nullptr);
    if (planes.empty()) return std::fill(x, x + d_, 0.0);
    std::vector<const Dyadic*> rows;
    for (const Row& row : planes) rows.push_back(row.data());
    const Dyadic whole = determinant(rows, d_);
    for (int32_t j = 0; j < d_; ++j) {
        std::vector<Row> replaced = planes;
        for (size_t i = 0; i < rows.size(); ++i) {
            replaced[i][size_t(j)] = planes[i].back().negated();
            rows[i] = replaced[i].data();
        }
        x[j] = determinant(rows, d_).over(whole);
    }
}

ExactPredicates* make_exact(const RegionLayer* layers, int32_t n_layers,
                            const RegionDomain& domain) {
    return new ExactPredicates(layers, n_layers, domain);
}

int exact_sign(ExactPredicates* exact, const uint64_t* const* patterns, const LineId* through,
               int32_t n, LineId of) {
    return exact->sign(patterns, through, n, of);
}

void exact_point(ExactPredicates* exact, const uint64_t* const* patterns, const LineId* through,
                 int32_t n, double* x) {
    exact->point(patterns, through, n, x);
}

void free_exact(ExactPredicates* exact) { delete exact; }

}  // namespace pellucid
