// New corners: the edges that a cut crosses, where it crosses them, and how well that is known.
#pragma once

#include "box.hpp"

namespace pellucid::PELLUCID_ISA {
namespace {

// The edges between a corner above and one below the zero plane of the chunk's switch k.
//
// An edge is the intersection of the facets that hold it. In a simple cell two corners are the ends
// of one exactly where they share d - 1 of their d facets. In another cell they share at least d - 1,
// and no third corner lies on all that they share.
template <int DIM, int WORDS>
void Box<DIM, WORDS>::find_edges(const Cell<WORDS>& cell, int k) {
    const Corner<WORDS>* v = &corners_[cell.begin];
    above_.size = below_.size = edges_.size = 0;
    if (!above_.room(cell.n) || !below_.room(cell.n) || !masks_.room(cell.n + PAD)) return fail();
    for (int64_t i = 0; i < cell.n; ++i) {
        if (v[i].pos >> k & 1)
            above_.data()[above_.size++] = i;
        else if (v[i].neg >> k & 1)
            below_.data()[below_.size++] = i;
    }
    if (!cell.simple) return pair_up_degenerate(cell);
    const int64_t a = above_.size, b = below_.size;
    if (!edges_.room((a < b ? a : b) * d_)) return fail();
    if (double(a) * double(b) > double(TABLE_FROM * d_) * double(a + b) && d_ > 1)
        pair_up_by_table(cell);
    else
        pair_up(cell);
}

// Two masks of d bits that share d - 1: one has a single bit that the other has not.
template <int DIM, int WORDS>
void Box<DIM, WORDS>::pair_up(const Cell<WORDS>& cell) {
    const Corner<WORDS>* v = &corners_[cell.begin];
    const bool swap = above_.size > below_.size;
    const int64_t *outer = (swap ? below_ : above_).data(), *inner = (swap ? above_ : below_).data();
    const int64_t n_outer = (swap ? below_ : above_).size, n_inner = (swap ? above_ : below_).size;
    const int64_t most = n_outer * d_;
    Mask<WORDS>* masks = masks_.data();
    for (int64_t j = 0; j < n_inner; ++j) masks[j] = v[inner[j]].mask;
    Edge* edge = edges_.data();
    const Edge* end = edge + most;
    auto found = [&](int64_t i, int64_t j) {
        if (edge == end) return;  // only where unproved signs were wrong
        *edge++ = swap ? Edge{inner[j], outer[i]} : Edge{outer[i], inner[j]};
    };
    for (int64_t i = 0; i < n_outer; ++i) {
        const Mask<WORDS>& m = v[outer[i]].mask;
        if constexpr (WORDS == 1) {
            for (int64_t j = 0; j < n_inner; j += D) {
                unsigned hits = single_bits(m.w[0], &masks[j].w[0]);
                if (n_inner - j < D) hits &= (1u << (n_inner - j)) - 1;
                for (; hits; hits &= hits - 1) found(i, j + __builtin_ctz(hits));
            }
        } else {
            for (int64_t j = 0; j < n_inner; ++j)
                if ((m & masks[j]).count() == d_ - 1) found(i, j);
        }
    }
    edges_.size = edge - edges_.data();
}

// The same through a table of the edges of the smaller side.
template <int DIM, int WORDS>
void Box<DIM, WORDS>::pair_up_by_table(const Cell<WORDS>& cell) {
    const Corner<WORDS>* v = &corners_[cell.begin];
    const bool swap = above_.size > below_.size;
    const Stack<int64_t>&few = swap ? below_ : above_, &many = swap ? above_ : below_;
    const int64_t most = few.size * d_;
    if (!table_.clear(most)) return fail();
    Mask<WORDS>* masks = masks_.data();
    for (int64_t i = 0; i < few.size; ++i) {
        masks[i] = v[few[i]].mask;
        masks[i].each([&](int slot) { table_.find(masks[i].without(slot), masks) = int32_t(i); });
    }
    for (int64_t i = 0; i < many.size; ++i) {
        const Mask<WORDS> mask = v[many[i]].mask;
        mask.each([&](int slot) {
            const int32_t found = table_.find(mask.without(slot), masks);
            if (found < 0 || edges_.size == most) return;
            edges_.data()[edges_.size++] =
                swap ? Edge{many[i], few[found]} : Edge{few[found], many[i]};
        });
    }
}

template <int DIM, int WORDS>
void Box<DIM, WORDS>::pair_up_degenerate(const Cell<WORDS>& cell) {
    const Corner<WORDS>* v = &corners_[cell.begin];
    for (int64_t i = 0; i < above_.size; ++i)
        for (int64_t j = 0; j < below_.size; ++j) {
            const Mask<WORDS> shared = v[above_[i]].mask & v[below_[j]].mask;
            if (shared.count() < d_ - 1) continue;
            int64_t on_it = 0;
            for (int64_t other = 0; other < cell.n && on_it <= 2; ++other)
                on_it += v[other].mask.contains(shared);
            if (on_it == 2 && !edges_.push({above_[i], below_[j]})) return fail();
        }
}

// The corner w in which the zero plane of switch k meets the edge from v0 to v1.
template <int DIM, int WORDS>
void Box<DIM, WORDS>::cross(const Chunk<DIM>& chunk, const Corner<WORDS>& v0,
                            const Corner<WORDS>& v1, int k, uint64_t todo, bool placed,
                            Corner<WORDS>& w) {
    w.mask = (v0.mask & v1.mask) | Mask<WORDS>::of(chunk.slot[k]);
    // A sign that both ends share, or that one end has where the other is on the plane.
    w.pos = (v0.pos & ~v1.neg) | (v1.pos & ~v0.neg);
    w.neg = (v0.neg & ~v1.pos) | (v1.neg & ~v0.pos);
    uint64_t open = ((v0.pos & v1.neg) | (v0.neg & v1.pos)) & todo;
    w.point = -1;
    if (!placed && open == 0) return;
    w.point = place(chunk, k, v0, v1, w.mask);
    for (; open; open &= open - 1) {
        const int j = __builtin_ctzll(open);
        const int of_w = sign(chunk, j, w);
        w.pos |= uint64_t(of_w > 0) << j;
        w.neg |= uint64_t(of_w < 0) << j;
    }
}

// Bound (2) along an edge; the number of the new point.
template <int DIM, int WORDS>
int64_t Box<DIM, WORDS>::place(double t, double off, int64_t from, int64_t to,
                               const Mask<WORDS>& mask) {
    const Point<DIM>&p = points_[from], &q = points_[to];
    Point<DIM>& w = points_.data()[points_.size];
    double x[DIM], step[DIM];
    for (int i = 0; i < DIM; ++i) {
        step[i] = q.x[i] - p.x[i];
        x[i] = p.x[i] + t * step[i];
    }
    __builtin_memcpy(w.x, x, sizeof x);
    for (int i = 0; i < DIM; ++i) x[i] = magnitude(x[i]), step[i] = magnitude(step[i]);
    w.X = 1 + total<DIM>(x);
    w.delta = interpolation_error(t, off, p.delta, q.delta, largest_of<DIM>(step), w.X);
    w.refined = false;
    if (!(w.delta < coarse_ * w.X)) refine(w, mask);
    return points_.size++;
}

// Moves a point nearer to the true one, where its hyperplanes meet, and bounds its distance by (2'):
// true where the bound became smaller.
template <int DIM, int WORDS>
bool Box<DIM, WORDS>::refine(Point<DIM>& point, const Mask<WORDS>& mask) {
    if (point.refined) return false;
    point.refined = true;
    if (mask.count() != d_) return false;
    const Plane<DIM>* rows[DIM];
    int n = 0;
    mask.each([&](int slot) { rows[n++] = &planes_[slot]; });
    // B, nearly the inverse of the coefficients A, by Gauss and Jordan in place; the rows and columns
    // beyond d are those of the identity.
    double B[DIM][DIM] = {};
    int row_of[DIM];
    for (int i = 0; i < DIM; ++i) {
        row_of[i] = i;
        if (i < n)
            for (int j = 0; j < DIM; ++j) B[i][j] = rows[i]->a[j];
        else
            B[i][i] = 1;
    }
    for (int j = 0; j < n; ++j) {
        int pivot = j;
        for (int i = j + 1; i < n; ++i)
            if (magnitude(B[i][j]) > magnitude(B[pivot][j])) pivot = i;
        const double scale = 1 / B[pivot][j];
        for (int c = 0; c < DIM; ++c) {
            const double swapped = B[j][c];
            B[j][c] = B[pivot][c];
            B[pivot][c] = swapped;
        }
        const int swapped = row_of[j];
        row_of[j] = row_of[pivot], row_of[pivot] = swapped;
        B[j][j] = 1;
        for (int c = 0; c < DIM; ++c) B[j][c] *= scale;
        for (int i = 0; i < n; ++i) {
            if (i == j) continue;
            const double factor = B[i][j];
            B[i][j] = 0;
            for (int c = 0; c < DIM; ++c) B[i][c] -= factor * B[j][c];
        }
    }
    // Column j of B belongs to the row that was moved to place j.
    const Plane<DIM>* moved_rows[DIM];
    for (int j = 0; j < n; ++j) moved_rows[j] = rows[row_of[j]];
    for (int j = 0; j < n; ++j) rows[j] = moved_rows[j];
    auto residual = [&](int r, const double* x) {
        double value = rows[r]->c;
        for (int j = 0; j < DIM; ++j) value += rows[r]->a[j] * x[j];
        return value;
    };
    Point<DIM> moved = point;
    double step[DIM];
    for (int r = 0; r < n; ++r) step[r] = residual(r, point.x);
    moved.X = 1;
    for (int i = 0; i < n; ++i) {
        for (int r = 0; r < n; ++r) moved.x[i] -= B[i][r] * step[r];
        moved.X += magnitude(moved.x[i]);
    }
    for (int r = 0; r < n; ++r)
        step[r] = magnitude(residual(r, moved.x)) + rows[r]->err * moved.X + TINY;
    double worst = 0, q = 0;
    for (int i = 0; i < n; ++i) {
        double distance = 0, row = 0, product[DIM] = {}, size[DIM] = {};
        product[i] = -1, size[i] = 1;
        for (int r = 0; r < n; ++r) {
            const double entry = B[i][r];
            distance += magnitude(entry) * step[r];
            row += magnitude(entry) * rows[r]->err * n;
            for (int j = 0; j < DIM; ++j) {
                product[j] += entry * rows[r]->a[j];
                size[j] += magnitude(entry * rows[r]->a[j]);
            }
        }
        for (int j = 0; j < n; ++j) row += magnitude(product[j]) + (n + 2) * U * size[j];
        worst = larger(distance, worst);
        q = larger(row, q);
        if (!(distance < 1e300 && row < 0.5)) return false;
    }
    moved.delta = UP * worst / (1 - q * UP) + TINY;
    if (!(moved.delta < point.delta)) return false;
    point = moved;
    return true;
}

}  // namespace
}  // namespace pellucid::PELLUCID_ISA
