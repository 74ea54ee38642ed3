#include "volumes.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace pellucid {

namespace {

using Bits = std::vector<uint64_t>;

// A face is joined to simplices from one of its vertices, the apex, to all its own faces that do not
// hold it (Cohen and Hickey, 1979). The product of the simplex's edge vectors, each without what lies
// along those before, is d! times its volume.
class Fan {
public:
    Fan(int d, int words, const double* x, const uint64_t* tight)
        : d_(d), words_(words), x_(x), tight_(tight) {}

    // d! times the volume of the face of k dimensions with these vertices, which all lie on `on`,
    // joined to the apexes so far.
    double join(const std::vector<int64_t>& face, const Bits& on, int k, double product) {
        const double height = add(face[0], d_ - k);
        product *= height;
        if (k == 0 || !(product > 0)) return product;
        Bits some(size_t(words_), 0);
        for (int64_t v : face)
            for (int w = 0; w < words_; ++w) some[size_t(w)] |= tight_[v * words_ + w];
        double sum = 0;
        std::vector<Bits> seen;
        std::vector<int64_t> part;
        for (int w = 0; w < words_; ++w) {
            uint64_t facets = some[size_t(w)] & ~on[size_t(w)] & ~tight_[face[0] * words_ + w];
            for (; facets; facets &= facets - 1) {
                const uint64_t facet = facets & -facets;
                part.clear();
                Bits shared(size_t(words_), ~uint64_t(0));
                for (int64_t v : face) {
                    if (!(tight_[v * words_ + w] & facet)) continue;
                    part.push_back(v);
                    for (int i = 0; i < words_; ++i) shared[size_t(i)] &= tight_[v * words_ + i];
                }
                if (int64_t(part.size()) < k) continue;
                if (std::find(seen.begin(), seen.end(), shared) != seen.end()) continue;
                seen.push_back(shared);
                sum += join(part, shared, k - 1, product);
            }
        }
        return sum;
    }

private:
    // The height of vertex v over the simplex of the first n apexes, which it joins.
    double add(int64_t v, int n) {
        const double* p = x_ + v * d_;
        if (n == 0) {
            origin_ = p;
            return 1;
        }
        double* edge = basis_[n];
        for (int i = 0; i < d_; ++i) edge[i] = p[i] - origin_[i];
        for (int twice = 0; twice < 2; ++twice)
            for (int b = 1; b < n; ++b) {
                double along = 0;
                for (int i = 0; i < d_; ++i) along += edge[i] * basis_[b][i];
                for (int i = 0; i < d_; ++i) edge[i] -= along * basis_[b][i];
            }
        double square = 0;
        for (int i = 0; i < d_; ++i) square += edge[i] * edge[i];
        const double height = std::sqrt(square);
        if (height > 0)
            for (int i = 0; i < d_; ++i) edge[i] /= height;
        return height;
    }

    int d_, words_;
    const double* x_;
    const uint64_t* tight_;
    const double* origin_ = nullptr;
    double basis_[16][16];
};

}  // namespace

void box_volumes(int64_t n, int d, int words, const double* vertices, const int64_t* offsets,
                 const uint64_t* tight, double* volumes) {
    double factorial = 1;
    for (int i = 2; i <= d; ++i) factorial *= i;
    for (int64_t r = 0; r < n; ++r) {
        std::vector<int64_t> all;
        for (int64_t v = 0; v < offsets[r + 1] - offsets[r]; ++v) all.push_back(v);
        volumes[r] = 0;
        if (all.empty()) continue;
        Fan fan(d, words, vertices + offsets[r] * d, tight + offsets[r] * words);
        volumes[r] = fan.join(all, Bits(size_t(words), 0), d, 1) / factorial;
    }
}

}  // namespace pellucid
