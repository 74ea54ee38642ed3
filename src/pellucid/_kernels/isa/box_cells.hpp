// Cells of any dimension: which switches split a cell, and the split.
#pragma once

#include "box.hpp"

namespace pellucid::PELLUCID_ISA {
namespace {

// Layer l begins on a cell.
template <int DIM, int WORDS>
void Box<DIM, WORDS>::enter(int32_t l, Cell<WORDS> cell) {
    if (stopped_) return;
    if (l == n_layers_) {
        if (collecting_) return collect(l, cell, 0, 0);
        if (problem_.wanted == Wanted::count) return tick(1);
        return emit(cell);
    }
    if (l > 0) this->update_map(l);
    if (stopped_) return;
    if (layers_[l].of.n_kinks == 0) return enter(l + 1, cell);
    const int64_t first = candidates_.size;
    evaluate(l, cell);
    if (stopped_) return;
    resolve(l, cell, first, candidates_.size);
    candidates_.size = first;
}

// Writes the bits of switches that have one proved sign at all corners; the others are candidates.
template <int DIM, int WORDS>
void Box<DIM, WORDS>::evaluate(int32_t l, const Cell<WORDS>& cell) {
    const AffineMap<DIM>& map = layers_[l].map;
    if (!candidates_.room(2 * layers_[l].switches)) return fail();
    const Corner<WORDS>* v = &corners_[cell.begin];
    double slack = 0;
    const double err = evaluation_error(map), reach = d_ * (map.largest + map.err);
    for (int64_t i = 0; i < cell.n; ++i) {
        const Point<DIM>& p = points_[v[i].point];
        const double of_corner = (reach * p.delta + err * p.X + TINY) * UP;
        slack = of_corner > slack || of_corner != of_corner ? of_corner : slack;
    }
    const Point<DIM>* points = points_.data();
    const int64_t n_found = this->settle(
        l, slack, candidates_.data() + candidates_.size, [&](int64_t i, vd& lowest, vd& topmost) {
            vd a[DIM];
            for (int d = 0; d < DIM; ++d) a[d] = load(map.a[d] + i);
            const vd c = load(map.c + i);
            for (int64_t k = 0; k < cell.n; ++k) {
                const double* x = points[v[k].point].x;
                vd s = c;
                for (int d = 0; d < DIM; ++d) s += a[d] * all(x[d]);
                lowest = k == 0 ? s : min(lowest, s);
                topmost = k == 0 ? s : max(topmost, s);
            }
        });
    out_->by_filter += cell.n * (layers_[l].switches - n_found);
    candidates_.size += n_found;
}

// Of a switch at the true corner: by the bound, at a corner known better, or by exact numbers.
template <int DIM, int WORDS>
int Box<DIM, WORDS>::sign(const Chunk<DIM>& chunk, int k, const Corner<WORDS>& v) {
    Point<DIM>& p = points_[v.point];
    double value;
    do {
        value = chunk.at(k, p);
        if (magnitude(value) > chunk.slack(k, p) * UP) {
            ++out_->by_filter;
            return value > 0 ? 1 : -1;
        }
    } while (refine(p, v.mask));
    LineId through[SLOTS];
    int32_t n = 0;
    v.mask.each([&](int slot) { through[n++] = planes_[slot].id; });
    return this->decide(through, n, {chunk.layer, chunk.index[k]}, value);
}

// Looks at candidates [rest, rest_end) of a layer until 64 of them split the cell; then splits it.
template <int DIM, int WORDS>
void Box<DIM, WORDS>::resolve(int32_t l, const Cell<WORDS>& cell, int64_t rest, int64_t rest_end) {
    Chunk<DIM> chunk;
    chunk.layer = l;
    chunk.err = evaluation_error(layers_[l].map);
    Corner<WORDS>* v = &corners_[cell.begin];
    for (int64_t i = 0; i < cell.n; ++i) v[i].pos = v[i].neg = 0;
    // The same number in all kernels, which find the same regions in the same order up to where they
    // give up.
    const int used = cell.used.count(), free = used < 64 ? 64 - used : SLOTS - used;
    const int most = !collecting_ ? 64 : d_ == 1 ? 16 : 4, room = free < most ? free : most;
    if (room == 0 && rest < rest_end) return fail(Stop::too_many_facets);
    int m = 0;
    chunk.clear_from(0);
    while (rest < rest_end && m < room) {
        const int most = room - m < D ? room - m : D;
        const int n = rest_end - rest < most ? int(rest_end - rest) : most;
        m += look_at(chunk, m, &candidates_[rest], n, cell);
        rest += n;
    }
    chunk.rest = rest, chunk.rest_end = rest_end;
    chunk.on = 0;
    chunk.last = l + 1 == n_layers_ && rest == rest_end && !collecting_;
    if (!take_slots(chunk, m, cell.used)) return fail();
    split(chunk, cell, m == 64 ? ~uint64_t(0) : (uint64_t(1) << m) - 1, 0);
    give_back_slots(chunk, m);
}

// A free slot for the hyperplane of each of the chunk's m switches.
template <int DIM, int WORDS>
bool Box<DIM, WORDS>::take_slots(Chunk<DIM>& chunk, int m, const Mask<WORDS>& used) {
    for (int k = 0, slot = 0; k < m; ++slot) {
        if (used.has(slot)) continue;
        Plane<DIM>& plane = planes_[slot];
        if (!displaced_.push(plane)) return false;
        for (int d = 0; d < DIM; ++d) plane.a[d] = chunk.a[d][k];
        plane.c = chunk.c[k], plane.err = chunk.err, plane.id = {chunk.layer, chunk.index[k]};
        plane.number = int32_t(layers_[chunk.layer].first + chunk.index[k]);
        chunk.slot[k++] = slot;
    }
    return true;
}

template <int DIM, int WORDS>
void Box<DIM, WORDS>::give_back_slots(const Chunk<DIM>& chunk, int m) {
    for (int k = m - 1; k >= 0; --k) planes_[chunk.slot[k]] = displaced_[--displaced_.size];
}

// Takes n candidates, at most D, into the chunk's columns from m on; those that do not split the cell
// get their bits in the pattern. How many are kept.
template <int DIM, int WORDS>
int Box<DIM, WORDS>::look_at(Chunk<DIM>& chunk, int m, const int32_t* candidates, int n,
                             const Cell<WORDS>& cell) {
    Layer<DIM>& layer = layers_[chunk.layer];
    const AffineMap<DIM>& map = layer.map;
    const int kinks = layer.of.n_kinks;
    for (int k = m; k < m + n; ++k) {
        const int32_t index = candidates[k - m], unit = kinks == 1 ? index : index >> 1;
        chunk.index[k] = index;
        chunk.norm[k] = d_ * map.err;
        for (int d = 0; d < DIM; ++d) {
            chunk.a[d][k] = map.a[d][unit];
            chunk.norm[k] += magnitude(chunk.a[d][k]);
        }
        chunk.c[k] = map.c[unit] - layer.of.kink[kinks == 1 ? 0 : index & 1];
    }
    chunk.clear_from(m + n);
    const unsigned all_n = (1u << n) - 1;
    unsigned above = 0, below = 0;
    Corner<WORDS>* v = &corners_[cell.begin];
    for (int64_t i = 0; i < cell.n; ++i) {
        const auto [values, slack] = chunk.values(m, points_[v[i].point]);
        unsigned pos = greater(values, slack), neg = greater(-values, slack);
        out_->by_filter += __builtin_popcount(pos | neg);
        for (unsigned open = all_n & ~(pos | neg); open; open &= open - 1) {
            const int k = __builtin_ctz(open), of_corner = sign(chunk, m + k, v[i]);
            pos |= unsigned(of_corner > 0) << k, neg |= unsigned(of_corner < 0) << k;
        }
        above |= pos, below |= neg;
        v[i].pos |= uint64_t(pos) << m, v[i].neg |= uint64_t(neg) << m;
    }
    const unsigned kept = above & below;
    int n_kept = 0;
    for (int k = 0; k < n; ++k) {
        const int32_t index = chunk.index[m + k];
        const uint64_t word_bit = uint64_t(1) << (index & 63);
        uint64_t& word = layer.pattern[index >> 6];
        word = (above & ~below) >> k & 1 ? word | word_bit : word & ~word_bit;
        if (kept >> k & 1) chunk.take(m + n_kept++, chunk, m + k);
    }
    if (kept == all_n) return n;
    chunk.clear_from(m + n_kept);
    const uint64_t before = (uint64_t(1) << m) - 1;
    for (int64_t i = 0; i < cell.n; ++i) {
        v[i].pos = (v[i].pos & before) | compress(v[i].pos >> m, kept) << m;
        v[i].neg = (v[i].neg & before) | compress(v[i].neg >> m, kept) << m;
    }
    return n_kept;
}

// Splits the cell by the chunk's switches in `todo`, all of which have corners on both sides.
// `on`: those known to be positive.
template <int DIM, int WORDS>
void Box<DIM, WORDS>::split(Chunk<DIM>& chunk, const Cell<WORDS>& cell, uint64_t todo,
                            uint64_t on) {
    if (stopped_) return;
    if (todo == 0) return leaf(chunk, cell, on);
    this->on_stack();
    if (cut(chunk, cell, todo, on)) return;
    if (chunk.last && problem_.wanted == Wanted::count) return count(chunk, cell, todo);
    const int k = __builtin_ctzll(todo);
    const uint64_t others = todo & (todo - 1), this_bit = todo ^ others;
    if (chunk.last && others == 0 && problem_.wanted == Wanted::patterns)
        return last_split(chunk, cell, k, on);
    find_edges(cell, k);
    if (stopped_) return;
    const int64_t n = cell.n, n_new = edges_.size, n_on = n - above_.size - below_.size;
    Cell<WORDS> above{corners_.size, above_.size + n_on + n_new, {}, cell.simple && n_on == 0};
    Cell<WORDS> below{above.begin + above.n, below_.size + n_on + n_new, {}, above.simple};
    const int64_t corners_before = corners_.size, points_before = points_.size;
    if (!corners_.room(above.n + below.n) || !points_.room(n_new)) return fail();
    corners_.size += above.n + below.n;

    const Corner<WORDS>* v = &corners_[cell.begin];
    Corner<WORDS>*P = &corners_[above.begin], *N = &corners_[below.begin];
    uint64_t P_pos = 0, P_neg = 0, N_pos = 0, N_neg = 0;
    for (int64_t i = 0; i < above_.size; ++i) {
        const Corner<WORDS> c = *P++ = v[above_[i]];
        P_pos |= c.pos, P_neg |= c.neg, above.used = above.used | c.mask;
    }
    for (int64_t i = 0; i < below_.size; ++i) {
        const Corner<WORDS> c = *N++ = v[below_[i]];
        N_pos |= c.pos, N_neg |= c.neg, below.used = below.used | c.mask;
    }
    auto add_to_both = [&](const Corner<WORDS>& c) {
        *N++ = *P++ = c;
        P_pos |= c.pos, P_neg |= c.neg, N_pos |= c.pos, N_neg |= c.neg;
        above.used = above.used | c.mask, below.used = below.used | c.mask;
    };
    for (int64_t i = 0; n_on > 0 && i < n; ++i) {
        if ((v[i].pos | v[i].neg) & this_bit) continue;
        Corner<WORDS> c = v[i];
        c.mask = c.mask | Mask<WORDS>::of(chunk.slot[k]);
        add_to_both(c);
    }
    for (int64_t e = 0; e < n_new; ++e) {
        Corner<WORDS> c;
        cross(chunk, v[edges_[e].above], v[edges_[e].below], k, others, true, c);
        add_to_both(c);
    }
    const bool first_above = v[0].pos & this_bit;
    if (d_ == 1) {  // the lower end comes first
        Corner<WORDS>* upper = &corners_[first_above ? below.begin : above.begin];
        const Corner<WORDS> end = upper[0];
        upper[0] = upper[1], upper[1] = end;
    }
    if (!above.simple) tidy(above), tidy(below);

    const uint64_t above_todo = others & P_pos & P_neg, below_todo = others & N_pos & N_neg;
    const uint64_t above_on = on | this_bit | (others & ~above_todo & P_pos);
    const uint64_t below_on = on | (others & ~below_todo & N_pos);
    // Along a line from low to high; else the side of the last leaf first: fewer units flip between
    // one leaf and the next.
    if (d_ == 1 ? first_above : (chunk.on & this_bit) != 0) {
        split(chunk, above, above_todo, above_on);
        split(chunk, below, below_todo, below_on);
    } else {
        split(chunk, below, below_todo, below_on);
        split(chunk, above, above_todo, above_on);
    }
    corners_.size = corners_before;
    points_.size = points_before;
}

// Counts the parts into which the switches in `todo` split a cell, all of which have corners on both
// sides. Planes h_1 .. h_m make one part more for every part of h_k that those before it make in h_k
// (deletion and restriction): parts(P; h_1 .. h_m) = 1 + sum over k of parts(P h_k; h_1 .. h_(k-1)),
// without those k whose h_k is one of the h_j before it inside P. The section P h_k is a polytope
// given by the corners on h_k; it has its own edges by the same rule.
template <int DIM, int WORDS>
void Box<DIM, WORDS>::count(const Chunk<DIM>& chunk, const Cell<WORDS>& cell, uint64_t todo) {
    tick(1);
    while (todo != 0 && !stopped_) {
        const int k = 63 - __builtin_clzll(todo);
        todo ^= uint64_t(1) << k;
        if (todo == 0) return tick(1);
        if (cell.n > 2) find_edges(cell, k);
        const int64_t corners_before = corners_.size, points_before = points_.size;
        if (cell.n > 2)
            count_section(chunk, cell, k, todo);
        else
            count_point(chunk, cell, k, todo);
        corners_.size = corners_before;
        points_.size = points_before;
    }
}

// The cell is an edge: h_k meets it in a point, which no other plane may have counted.
template <int DIM, int WORDS>
void Box<DIM, WORDS>::count_point(const Chunk<DIM>& chunk, const Cell<WORDS>& cell, int k,
                                  uint64_t todo) {
    if (!points_.room(1)) return fail();
    const Corner<WORDS>* v = &corners_[cell.begin];
    Corner<WORDS> w;
    cross(chunk, v[0], v[1], k, todo, false, w);
    if ((todo & ~(w.pos | w.neg)) == 0) tick(1);
}

template <int DIM, int WORDS>
void Box<DIM, WORDS>::count_section(const Chunk<DIM>& chunk, const Cell<WORDS>& cell, int k,
                                    uint64_t todo) {
    const uint64_t this_bit = uint64_t(1) << k;
    const int64_t n_new = edges_.size, n_on = cell.n - above_.size - below_.size;
    Cell<WORDS> section{corners_.size, n_on + n_new, {}, cell.simple && n_on == 0};
    if (stopped_ || !corners_.room(section.n) || !points_.room(n_new)) return fail();
    corners_.size += section.n;
    const Corner<WORDS>* v = &corners_[cell.begin];
    Corner<WORDS>* w = &corners_[section.begin];
    uint64_t pos = 0, neg = 0;
    const bool one = (todo & (todo - 1)) == 0;
    for (int64_t i = 0; n_on > 0 && i < cell.n; ++i) {
        if ((v[i].pos | v[i].neg) & this_bit) continue;
        *w = v[i];
        w->mask = w->mask | Mask<WORDS>::of(chunk.slot[k]);
        pos |= w->pos, neg |= w->neg, section.used = section.used | w->mask;
        ++w;
    }
    Corner<WORDS>* first_new = w;
    for (int64_t e = 0; e < n_new; ++e, ++w) {
        cross(chunk, v[edges_[e].above], v[edges_[e].below], k, todo, false, *w);
        pos |= w->pos, neg |= w->neg, section.used = section.used | w->mask;
        if (one && (pos & neg & todo)) return tick(2);
    }
    if (todo & ~(pos | neg)) return;  // another plane is the same inside the cell
    const uint64_t across = todo & pos & neg;
    if (across == 0) return tick(1);
    if ((across & (across - 1)) == 0) return tick(2);
    w = first_new;
    for (int64_t e = 0; e < n_new; ++e, ++w)
        if (w->point < 0)
            w->point = place(chunk, k, v[edges_[e].above], v[edges_[e].below], w->mask);
    count(chunk, section, across);
}

// A cell that no switch of the chunk splits.
template <int DIM, int WORDS>
void Box<DIM, WORDS>::leaf(Chunk<DIM>& chunk, const Cell<WORDS>& cell, uint64_t on) {
    write_bits(chunk, on);
    if (collecting_) return collect(chunk.layer, cell, chunk.rest, chunk.rest_end);
    if (chunk.rest < chunk.rest_end) return resolve(chunk.layer, cell, chunk.rest, chunk.rest_end);
    enter(chunk.layer + 1, cell);
}

template <int DIM, int WORDS>
void Box<DIM, WORDS>::write_bits(Chunk<DIM>& chunk, uint64_t on) {
    uint64_t* pattern = layers_[chunk.layer].pattern;
    for (uint64_t flipped = chunk.on ^ on; flipped; flipped &= flipped - 1) {
        const int32_t index = chunk.index[__builtin_ctzll(flipped)];
        pattern[index >> 6] ^= uint64_t(1) << (index & 63);
    }
    chunk.on = on;
}

// Writes out the two regions on both sides of switch k. A facet of the cell is one of the side's where
// it has a corner strictly on that side, and so no new corner is needed.
template <int DIM, int WORDS>
void Box<DIM, WORDS>::last_split(Chunk<DIM>& chunk, const Cell<WORDS>& cell, int k, uint64_t on) {
    const Corner<WORDS>* v = &corners_[cell.begin];
    const Mask<WORDS> cut = Mask<WORDS>::of(chunk.slot[k]);
    Mask<WORDS> facets[2] = {cut, cut};  // below, above
    for (int64_t i = 0; i < cell.n; ++i)
        if ((v[i].pos | v[i].neg) >> k & 1) {
            Mask<WORDS>& side = facets[v[i].pos >> k & 1];
            side = side | v[i].mask;
        }
    const bool first = chunk.on >> k & 1;
    int16_t place_of[SLOTS];
    for (const bool above : {first, !first}) {
        if (stopped_) break;
        write_bits(chunk, on | uint64_t(above) << k);
        if (!write_facets(facets[above], place_of)) return fail();
        tick(1);
    }
}

// Takes the slots of hyperplanes that hold no facet from the masks: those whose corners all lie on
// another one too.
template <int DIM, int WORDS>
void Box<DIM, WORDS>::tidy(Cell<WORDS>& cell) {
    Corner<WORDS>* v = &corners_[cell.begin];
    cell.used.each([&](int slot) { shared_[slot] = cell.used; });
    for (int64_t i = 0; i < cell.n; ++i)
        v[i].mask.each([&](int slot) { shared_[slot] = shared_[slot] & v[i].mask; });
    Mask<WORDS> facets{};
    cell.used.each([&](int slot) {
        if (shared_[slot] == Mask<WORDS>::of(slot)) facets = facets | Mask<WORDS>::of(slot);
    });
    cell.used = facets;
    cell.simple = true;
    for (int64_t i = 0; i < cell.n; ++i) {
        v[i].mask = v[i].mask & facets;
        cell.simple = cell.simple && v[i].mask.count() == d_;
    }
}

}  // namespace
}  // namespace pellucid::PELLUCID_ISA
