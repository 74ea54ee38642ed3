// Cells: which switches split a cell, the split, and the vertices that it makes.
#pragma once

#include "plane.hpp"

namespace pellucid::PELLUCID_ISA {
namespace {

// Layer l begins on a cell; memory from `top` on is free.
void Subdivision::enter(int32_t l, int64_t begin, int64_t n, int64_t top) {
    if (stopped_) return;
    if (l == n_layers_) {
        if (collecting_) return collect(l, begin, n, 0, 0);
        if (problem_.wanted == Wanted::count) return tick(1);
        return emit(begin, n);
    }
    if (l > 0) update_map(l);
    if (stopped_) return;
    if (layers_[l].of.n_kinks == 0) return enter(l + 1, begin, n, top);
    const int64_t first = candidates_.size;
    evaluate(l, begin, n);
    resolve(l, begin, n, top, first, candidates_.size);
    candidates_.size = first;
}

// Writes the bits of switches that have one proved sign at all vertices; the others are candidates.
void Subdivision::evaluate(int32_t l, int64_t begin, int64_t n) {
    Layer<2>& layer = layers_[l];
    const AffineMap<2>& map = layer.map;
    if (!candidates_.room(2 * layer.switches)) return fail();
    Vertex* v = &cells_[begin];
    double slack = 0;
    const double err = evaluation_error(map), reach = 2 * (map.largest + map.err);
    for (int64_t i = 0; i < n; ++i) {
        const double X = magnitude(v[i].x) + magnitude(v[i].y) + 1;
        v[i].slack = (reach * v[i].delta + err * X + TINY) * UP;
        slack = v[i].slack > slack || v[i].slack != v[i].slack ? v[i].slack : slack;
    }
    const int64_t n_found = settle(
        l, slack, candidates_.data() + candidates_.size, [&](int64_t i, vd& lowest, vd& topmost) {
            const vd ax = load(map.a[0] + i), ay = load(map.a[1] + i), c = load(map.c + i);
            lowest = topmost = ax * all(v[0].x) + (ay * all(v[0].y) + c);
            for (int64_t k = 1; k < n; ++k) {
                const vd s = ax * all(v[k].x) + (ay * all(v[k].y) + c);
                lowest = min(lowest, s);
                topmost = max(topmost, s);
            }
        });
    out_->by_filter += n * (layer.switches - n_found);
    candidates_.size += n_found;
}

PELLUCID_INLINE double at(const Switch& s, const Vertex& v) {
    return s.ax * v.x + (s.ay * v.y + s.c);
}

int Subdivision::decide(const Line& a, const Line& b, LineId of, double s) {
    const LineId through[2] = {a.id, b.id};
    return Layers::decide(through, 2, of, s);
}

// Looks at candidates [rest, rest_end) of a layer until 64 of them split the cell; then splits it.
void Subdivision::resolve(int32_t l, int64_t begin, int64_t n, int64_t top, int64_t rest,
                          int64_t rest_end) {
    Layer<2>& layer = layers_[l];
    Chunk chunk;
    chunk.layer = l;
    chunk.err = evaluation_error(layer.map);
    chunk.largest = layer.map.largest;
    Vertex* v = &cells_[begin];
    const double reach = 2 * (layer.map.largest + layer.map.err);
    for (int64_t i = 0; i < n; ++i) {
        const double X = magnitude(v[i].x) + magnitude(v[i].y) + 1;
        v[i].slack = (reach * v[i].delta + chunk.err * X + TINY) * UP;
        v[i].pos = v[i].neg = 0;
    }
    const int kinks = layer.of.n_kinks, room = collecting_ ? 16 : 64;
    int m = 0;
    for (; rest < rest_end && m < room; ++rest) {
        const int32_t index = candidates_[rest];
        const int32_t unit = kinks == 1 ? index : index >> 1;
        const double kink = layer.of.kink[kinks == 1 ? 0 : index & 1];
        const Switch s{layer.map.a[0][unit], layer.map.a[1][unit], layer.map.c[unit] - kink, index};
        bool above = false, below = false;
        for (int64_t i = 0; i < n; ++i) {
            const double value = at(s, v[i]);
            int sign = value > v[i].slack ? 1 : -value > v[i].slack ? -1 : 0;
            if (sign != 0)
                ++out_->by_filter;
            else
                sign = decide(lines_[v[i > 0 ? i - 1 : n - 1].line], lines_[v[i].line], {l, index},
                              value);
            above |= sign > 0, below |= sign < 0;
            v[i].pos |= uint64_t(sign > 0) << m;
            v[i].neg |= uint64_t(sign < 0) << m;
        }
        const uint64_t word_bit = uint64_t(1) << (index & 63);
        uint64_t& word = layer.pattern[index >> 6];
        if (above && below) {
            chunk.switches[m++] = s;
            word &= ~word_bit;
        } else {
            word = above ? word | word_bit : word & ~word_bit;
            const uint64_t keep = ~(uint64_t(1) << m);
            for (int64_t i = 0; i < n; ++i) v[i].pos &= keep, v[i].neg &= keep;
        }
    }
    chunk.rest = rest, chunk.rest_end = rest_end;
    chunk.on = 0;
    chunk.last = l + 1 == n_layers_ && rest == rest_end;
    chunk.counting = chunk.last && problem_.wanted == Wanted::count && !collecting_;
    split(chunk, begin, n, top, m == 64 ? ~uint64_t(0) : (uint64_t(1) << m) - 1, 0);
}

// The vertex w in which the zero line of switch k meets the edge from v0 to v1.
void Subdivision::cross(const Chunk& chunk, const Vertex& v0, const Vertex& v1, int k,
                        uint64_t todo, const Line& cut, Vertex& w) {
    const Line& edge = lines_[v0.line];
    const double a0 = magnitude(at(chunk.switches[k], v0));
    const double a1 = magnitude(at(chunk.switches[k], v1));
    double t = a0 / (a0 + a1);
    if (!(t >= 0 && t <= 1)) t = 0.5;
    const double dx = v1.x - v0.x, dy = v1.y - v0.y;
    w.x = v0.x + t * dx;
    w.y = v0.y + t * dy;
    // (2)
    const double X = magnitude(w.x) + magnitude(w.y) + 1;
    const double length = larger(magnitude(dx), magnitude(dy));
    const double on_edge = larger(v0.delta, v1.delta) + length + 8 * U * (X + length);
    const double r1 = magnitude(edge.ax * w.x + (edge.ay * w.y + edge.c)) + edge.err * X;
    const double r2 = magnitude(cut.ax * w.x + (cut.ay * w.y + cut.c)) + cut.err * X;
    const double det = magnitude(edge.ax * cut.ay - edge.ay * cut.ax) -
                       2 * (edge.largest * cut.err + cut.largest * edge.err + edge.err * cut.err) -
                       4 * U * edge.largest * cut.largest;
    const double ex = magnitude(edge.ax) + edge.err, ey = magnitude(edge.ay) + edge.err;
    const double cx = magnitude(cut.ax) + cut.err, cy = magnitude(cut.ay) + cut.err;
    const double by_lines = larger(cy * r1 + ey * r2, cx * r1 + ex * r2) / det + TINY;
    // Products of coefficients that underflow make by_lines mean nothing.
    const bool sound = det > 0 && edge.largest * cut.largest > 1e-280;
    w.delta = UP * (sound && by_lines < on_edge ? by_lines : on_edge);
    w.slack = (2 * (chunk.largest + chunk.err) * w.delta + chunk.err * X + TINY) * UP;
    // A sign that both ends share, or that one end has where the other is on the line.
    w.pos = (v0.pos & ~v1.neg) | (v1.pos & ~v0.neg);
    w.neg = (v0.neg & ~v1.pos) | (v1.neg & ~v0.pos);
    w.line = v0.line;
    for (uint64_t open = ((v0.pos & v1.neg) | (v0.neg & v1.pos)) & todo; open; open &= open - 1) {
        const int j = __builtin_ctzll(open);
        const double value = at(chunk.switches[j], w);
        int sign = value > w.slack ? 1 : -value > w.slack ? -1 : 0;
        if (sign != 0)
            ++out_->by_filter;
        else
            sign = decide(edge, cut, {chunk.layer, chunk.switches[j].index}, value);
        w.pos |= uint64_t(sign > 0) << j;
        w.neg |= uint64_t(sign < 0) << j;
    }
}

// Splits the cell by the chunk's switches in `todo`, all of which have vertices on both sides.
// `on`: those known to be positive; `top`: where free memory begins.
void Subdivision::split(Chunk& chunk, int64_t begin, int64_t n, int64_t top, uint64_t todo,
                        uint64_t on) {
    if (stopped_) return;
    if (todo == 0) return leaf(chunk, begin, n, top, on);
    on_stack();
    if (chunk.counting && (todo & (todo - 1)) == 0) return tick(2);
    const int k = __builtin_ctzll(todo);
    const uint64_t others = todo & (todo - 1), this_bit = todo ^ others;
    cells_.size = top;
    if (!cells_.room(4 * n + 8) || !lines_.room(1)) return fail();

    const int64_t cut = lines_.size++;
    const Switch& s = chunk.switches[k];
    lines_[cut] = {s.ax, s.ay, s.c, chunk.err, chunk.largest, {chunk.layer, s.index},
                   int32_t(layers_[chunk.layer].first + s.index)};
    const Vertex* v = &cells_[begin];
    const int64_t below_begin = top + 2 * n + 2;
    Vertex *P = &cells_[top], *N = &cells_[below_begin];
    uint64_t P_pos = 0, P_neg = 0, N_pos = 0, N_neg = 0;
    int side = int(v[0].pos >> k & 1) - int(v[0].neg >> k & 1);
    for (int64_t i = 0; i < n; ++i) {
        const Vertex& at_i = v[i];
        const Vertex& next = v[i + 1 < n ? i + 1 : 0];
        const int next_side = int(next.pos >> k & 1) - int(next.neg >> k & 1);
        if (side >= 0) {
            *P = at_i;
            if (side == 0 && next_side < 0) P->line = cut;
            P_pos |= at_i.pos, P_neg |= at_i.neg;
            ++P;
        }
        if (side <= 0) {
            *N = at_i;
            if (side == 0 && next_side > 0) N->line = cut;
            N_pos |= at_i.pos, N_neg |= at_i.neg;
            ++N;
        }
        if (side * next_side < 0) {
            cross(chunk, at_i, next, k, others, lines_[cut], *P);
            *N = *P;
            (side > 0 ? P : N)->line = cut;
            P_pos |= P->pos, P_neg |= P->neg, N_pos |= P->pos, N_neg |= P->neg;
            ++P, ++N;
        }
        side = next_side;
    }
    const int64_t n_above = P - &cells_[top], n_below = N - &cells_[below_begin];
    const int64_t new_top = below_begin + n_below;
    const uint64_t above_todo = others & P_pos & P_neg, below_todo = others & N_pos & N_neg;
    const uint64_t above_on = on | this_bit | (others & ~above_todo & P_pos);
    const uint64_t below_on = on | (others & ~below_todo & N_pos);
    // The side of the last leaf first: fewer units flip between one leaf and the next.
    if (chunk.on & this_bit) {
        split(chunk, top, n_above, new_top, above_todo, above_on);
        split(chunk, below_begin, n_below, new_top, below_todo, below_on);
    } else {
        split(chunk, below_begin, n_below, new_top, below_todo, below_on);
        split(chunk, top, n_above, new_top, above_todo, above_on);
    }
    lines_.size = cut;
}

// A cell that no switch of the chunk splits.
void Subdivision::leaf(Chunk& chunk, int64_t begin, int64_t n, int64_t top, uint64_t on) {
    uint64_t* pattern = layers_[chunk.layer].pattern;
    for (uint64_t flipped = chunk.on ^ on; flipped; flipped &= flipped - 1) {
        const int32_t index = chunk.switches[__builtin_ctzll(flipped)].index;
        pattern[index >> 6] ^= uint64_t(1) << (index & 63);
    }
    chunk.on = on;
    if (collecting_) return collect(chunk.layer, begin, n, chunk.rest, chunk.rest_end);
    if (chunk.rest < chunk.rest_end)
        return resolve(chunk.layer, begin, n, top, chunk.rest, chunk.rest_end);
    enter(chunk.layer + 1, begin, n, top);
}

}  // namespace
}  // namespace pellucid::PELLUCID_ISA
