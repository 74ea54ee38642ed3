// All parts of a simple cell at once.
//
// The hyperplanes of the switches that cut a cell make an arrangement in it, and the arrangement's
// vertices tell everything about the parts. Every part has vertices; around a vertex on j of the
// hyperplanes lie 2^j parts, one for each choice of j signs; and each facet through the vertex is a
// facet of all of them. So a vertex is found once, where splitting would copy it into every part.
//
// The vertices on the hyperplanes k_1 > ... > k_j are the corners of the section P k_1 ... k_j, and lie
// on the edges of the section P k_1 ... k_(j-1). An edge is crossed by the switches whose signs differ
// at its ends; two words tell which ones.
//
// Where only facets are wanted, one hyperplane is left out: a facet of a part of the others lies on
// those sides of it where it has vertices, and the hyperplane is a facet where both sides are there.
//
// All of this holds for simple arrangements, with d hyperplanes and facets through every vertex. If a
// sign is zero that should not be, the cell is split by one switch, and the two sides tried again.
#pragma once

#include "box.hpp"

namespace pellucid::PELLUCID_ISA {
namespace {

// Cuts a cell by the switches in `todo`, and goes on with each part; false: not simple, nothing done.
// Where no vertices are wanted, box_games.hpp may know the parts without them.
template <int DIM, int WORDS>
bool Box<DIM, WORDS>::cut(Chunk<DIM>& chunk, const Cell<WORDS>& cell, uint64_t todo, uint64_t on) {
    const bool counts = chunk.last && problem_.wanted == Wanted::count;
    const bool bare = chunk.last && problem_.wanted == Wanted::patterns;
    const int m = __builtin_popcountll(todo);
    if (WORDS > 1 || d_ == 1 || !cell.simple || (m > AT_ONCE && !counts)) return false;
    const int64_t corners = corners_.size, points = points_.size, parts = parts_.size,
                  members = members_.size, regions = out_->regions;
    cut_.counts = counts, cut_.placed = !bare && !counts;
    cut_.switches = m == 64 ? ~uint64_t(0) : (uint64_t(1) << m) - 1;
    bool known = (bare || counts) && m <= AT_ONCE && play(chunk, cell, todo);
    if (known) {
        list_parts();
        if (counts) tick(parts_.size - parts);
    } else if (!stopped_) {
        if (counts) tick(1);
        known = find_vertices(chunk, cell, todo, bare);
        if (!known) out_->regions = regions;
        if (known && !counts && !stopped_) find_parts(bare);
    }
    if (known && !counts && !stopped_) visit(chunk, todo, on, parts, parts_.size - parts);
    corners_.size = corners, points_.size = points, parts_.size = parts, members_.size = members;
    return known || stopped_;
}

// Takes the switches in `todo` into cut_.chunk, numbered from 0; how many.
template <int DIM, int WORDS>
int Box<DIM, WORDS>::gather(const Chunk<DIM>& chunk, uint64_t todo) {
    Chunk<DIM>& dense = cut_.chunk;
    dense.layer = chunk.layer, dense.err = chunk.err;
    int m = 0;
    for (uint64_t rest = todo; rest; rest &= rest - 1)
        dense.take(m++, chunk, __builtin_ctzll(rest));
    dense.clear_from(m);
    return m;
}

// The cell's corners and all other vertices, from cut_.begin on, with switches numbered from 0.
template <int DIM, int WORDS>
bool Box<DIM, WORDS>::find_vertices(const Chunk<DIM>& chunk, const Cell<WORDS>& cell, uint64_t todo,
                                    bool bare) {
    const int m = gather(chunk, todo);
    cut_.begin = corners_.size, cut_.stride = padded(m), cut_.left_out = 0, cut_.largest = 0;
    if (!corners_.room(cell.n) || !values_.room(cell.n * cut_.stride) || !errors_.room(cell.n))
        return fail(), false;
    const Corner<WORDS>* v = &corners_[cell.begin];
    for (int64_t i = 0; i < cell.n; ++i) {
        const uint64_t pos = compress(v[i].pos, todo), neg = compress(v[i].neg, todo);
        if ((pos | neg) != cut_.switches) return false;
        corners_.data()[corners_.size++] = {v[i].mask, pos, neg, v[i].point};
    }
    const Section whole{cut_.begin, corners_.size, 0};
    lines_.size = sections_.size = 0;
    if (!sections_.push(whole)) return fail(), false;
    if (bare && m == 1) cut_.left_out = cut_.switches;
    if (cut_.left_out) return true;
    find_lines(whole.begin, cell.n, cut_.switches);
    if (bare) cut_.left_out = most_crossed();
    for (int64_t i = cut_.begin; i < corners_.size; ++i) begin_values(i);
    return cut_section(whole, 0, cut_.switches & ~cut_.left_out);
}

// The bit of the switch that crosses the most lines.
template <int DIM, int WORDS>
uint64_t Box<DIM, WORDS>::most_crossed() const {
    int64_t best = -1;
    uint64_t found = 0;
    for (uint64_t rest = cut_.switches; rest; rest &= rest - 1) {
        const int k = __builtin_ctzll(rest);
        int64_t n = 0;
        for (int64_t i = 0; i < lines_.size; ++i) n += lines_[i].across >> k & 1;
        if (n > best) best = n, found = rest & -rest;
    }
    return found;
}

// Finds the vertices on the switches in `lower`, all of which cut a section, whose lines are the last
// ones from `first` on: false where one is on another switch too.
template <int DIM, int WORDS>
bool Box<DIM, WORDS>::cut_section(const Section& of, int64_t first, uint64_t lower) {
    const int64_t last = lines_.size;
    this->worked(1 + (of.end - of.begin) / 16);
    for (uint64_t rest = lower; rest && !stopped_;) {
        const int k = 63 - __builtin_clzll(rest);
        const uint64_t this_bit = uint64_t(1) << k;
        rest ^= this_bit;
        if (cut_.counts) tick(1);
        if (cut_.counts && rest == 0) break;
        crossed_.size = 0;
        if (!crossed_.room(last - first)) return fail(), false;
        for (int64_t i = first; i < last; ++i) {
            crossed_.data()[crossed_.size] = i;
            crossed_.size += lines_[i].across >> k & 1;
        }
        const int64_t n_new = crossed_.size;
        const Section section{corners_.size, corners_.size + n_new, of.tight | this_bit};
        if (!corners_.room(n_new) || !points_.room(n_new) || !sections_.push(section) ||
            !values_.room((section.end - cut_.begin) * cut_.stride) ||
            !errors_.room(section.end - cut_.begin))
            return fail(), false;
        const uint64_t asked = cut_.counts ? rest : cut_.switches & ~this_bit;
        const bool one_left = cut_.counts && (rest & (rest - 1)) == 0;
        uint64_t pos = 0, neg = 0;
        for (int64_t i = 0; i < n_new; ++i) {
            if (!meet(lines_[crossed_[i]], k, asked)) return false;
            const Corner<WORDS>& w = corners_[corners_.size - 1];
            pos |= w.pos, neg |= w.neg;
            if (one_left && (pos & neg & rest)) break;
        }
        const uint64_t still_lower = rest & pos & neg;
        if (still_lower == 0) continue;
        if (cut_.counts && (still_lower & (still_lower - 1)) == 0) {
            tick(1);
            continue;
        }
        find_lines(section.begin, n_new, still_lower);
        if (!cut_section(section, last, still_lower)) return false;
        lines_.size = last;
    }
    return true;
}

// The edges of a section that a switch in `lower` crosses: two of its corners are the ends of one
// exactly where they share d - 1 of their d facets and hyperplanes.
template <int DIM, int WORDS>
void Box<DIM, WORDS>::find_lines(int64_t begin, int64_t n, uint64_t lower) {
    const bool many = n > MANY * d_;
    if (!lines_.room(n * d_) || !masks_.room(n + PAD) || (many && !table_.clear(n * d_ / 2)))
        return fail();
    Mask<WORDS>* masks = masks_.data();
    for (int64_t i = 0; i < n; ++i) masks[i] = corners_[begin + i].mask;
    for (int64_t i = n; i < n + PAD; ++i) masks[i] = {};  // far from every mask
    const int64_t most = lines_.size + n * d_;  // only unproved signs may be wrong, and give more
    auto add = [&](int64_t i, int64_t j) {
        const uint64_t across = (corners_[begin + i].pos ^ corners_[begin + j].pos) & lower;
        lines_.data()[lines_.size] = {{begin + i, begin + j}, across};
        lines_.size += across != 0;
    };
    if (many) {
        Mask<WORDS> common = masks[0];
        for (int64_t i = 1; i < n; ++i) common = common & masks[i];
        for (int64_t i = 0; i < n; ++i)
            masks[i].each([&](int slot) {
                if (common.has(slot)) return;
                int32_t& found = table_.find(masks[i].without(slot), masks);
                if (found >= 0)
                    add(found, i);
                else
                    found = int32_t(i);
            });
        return;
    }
    for (int64_t i = 0; i < n; ++i)
        for (int64_t from = i + 1; from < n; from += 64) {
            uint64_t near = 0;
            for (int64_t j = from; j < n && j < from + 64; j += D)
                near |= uint64_t(single_bits(masks[i].w[0], &masks[j].w[0])) << (j - from);
            for (; near && lines_.size < most; near &= near - 1)
                add(i, from + __builtin_ctzll(near));
        }
}

// The vertex in which switch k crosses an edge, with its signs of the switches `asked` for; false where
// one of them is zero. All switches are affine along the edge, so that their values at the vertex are
// known, and most of their signs, without its coordinates.
template <int DIM, int WORDS>
bool Box<DIM, WORDS>::meet(const Line& line, int k, uint64_t asked) {
    const auto [i, j] = line.ends;
    const Corner<WORDS>&v0 = corners_[i], &v1 = corners_[j];
    const double *start = values_of(i), *end = values_of(j);
    const double off_start = errors_[i - cut_.begin], off_end = errors_[j - cut_.begin];
    const Where where{start[k], end[k], off_start, off_end};
    double* value = values_of(corners_.size);
    vd longest{}, between[64 / D];
    for (int64_t c = 0; c < cut_.stride; c += D) {
        const vd from = load_any(start + c), step = load_any(end + c) - from;
        between[c / D] = from + all(where.t) * step;
        __builtin_memcpy(value + c, &between[c / D], sizeof(vd));
        longest = max(longest, abs(step));
    }
    const double error = where.error(off_start, off_end, highest(longest), cut_.largest);
    errors_.data()[corners_.size - cut_.begin] = error;
    uint64_t pos = 0, neg = 0;
    for (int64_t c = 0; c < cut_.stride; c += D) {
        pos |= uint64_t(greater(between[c / D], all(error))) << c;
        neg |= uint64_t(greater(-between[c / D], all(error))) << c;
    }
    uint64_t open = (v0.pos ^ v1.pos) & asked;
    out_->by_filter += __builtin_popcountll(open & (pos | neg));
    Corner<WORDS>& w = corners_.data()[corners_.size++];
    w.mask = (v0.mask & v1.mask) | Mask<WORDS>::of(cut_.chunk.slot[k]);
    w.pos = (v0.pos & v1.pos) | (pos & open), w.neg = (v0.neg & v1.neg) | (neg & open);
    if (cut_.placed) w.point = place(where, v0.point, v1.point, w.mask);
    open &= ~(pos | neg);
    if (open && !cut_.placed) {  // refine() finds it from anywhere
        w.point = points_.size;
        points_.data()[points_.size++] = {{}, __builtin_inf(), 1, false};
    }
    for (; open; open &= open - 1) {
        const int other = __builtin_ctzll(open), of_w = sign(cut_.chunk, other, w);
        if (of_w == 0) return false;
        (of_w > 0 ? w.pos : w.neg) |= uint64_t(1) << other;
    }
    return true;
}

// The values of all switches at a corner of the cell.
template <int DIM, int WORDS>
void Box<DIM, WORDS>::begin_values(int64_t corner) {
    const Point<DIM>& point = points_[corners_[corner].point];
    double *values = values_of(corner), error = 0;
    for (int64_t c = 0; c < cut_.stride; c += D) {
        const auto [found, slack] = cut_.chunk.values(int(c), point);
        __builtin_memcpy(values + c, &found, sizeof found);
        error = larger(error, highest(slack));
        cut_.largest = larger(cut_.largest, highest(abs(found)) + error);
    }
    errors_.data()[corner - cut_.begin] = error;
}

// --- the parts -------------------------------------------------------------------------------------

// The parts around all vertices, with their facets and (unless bare) their corners.
template <int DIM, int WORDS>
void Box<DIM, WORDS>::find_parts(bool bare) {
    const uint64_t all = cut_.switches, beyond = cut_.left_out;
    const Corner<WORDS>* v = corners_.data();
    auto around_each = [&](auto f) {
        for (int64_t n = 0; n < sections_.size; ++n) {
            const auto [begin, end, tight] = sections_[n];
            for (uint64_t some = tight;; some = (some - 1) & tight) {
                for (int64_t i = begin; i < end; ++i) f(v[i].pos | some, i);
                if (some == 0) break;
            }
        }
    };
    for (uint64_t i = 0; i <= all; ++i) facets_at_[i] = members_at_[i] = 0;
    around_each([&](uint64_t at, int64_t i) { facets_at_[at] |= v[i].mask.w[0]; });
    if (!bare) around_each([&](uint64_t at, int64_t) { ++members_at_[at]; });
    if (beyond) {
        const uint64_t slot = uint64_t(1) << cut_.chunk.slot[__builtin_ctzll(beyond)];
        for (uint64_t i = 0; i <= all; ++i)
            if (!(i & beyond) && facets_at_[i] && facets_at_[i | beyond])
                facets_at_[i] |= slot, facets_at_[i | beyond] |= slot;
    }
    const int64_t end = list_parts();
    if (bare || stopped_) return;
    if (!members_.room(end - members_.size)) return fail();
    around_each([&](uint64_t at, int64_t i) { members_.data()[members_at_[at]++] = i; });
    members_.size = end;
}

// Appends the parts that have facets; where their members will end.
template <int DIM, int WORDS>
int64_t Box<DIM, WORDS>::list_parts() {
    int64_t end = members_.size;
    if (!parts_.room(int64_t(cut_.switches) + 1)) return fail(), end;
    for (uint64_t i = 0; i <= cut_.switches; ++i) {
        if (!facets_at_[i]) continue;
        parts_.data()[parts_.size++] = {i, facets_at_[i], end, members_at_[i]};
        end += members_at_[i];
        members_at_[i] = end - members_at_[i];
    }
    return end;
}

// Goes on with n parts, in the order in which splitting by one switch after the other finds them.
template <int DIM, int WORDS>
void Box<DIM, WORDS>::visit(Chunk<DIM>& chunk, uint64_t todo, uint64_t on, int64_t first, int64_t n) {
    if (stopped_) return;
    if (n == 1) return visit_part(chunk, on | expand(parts_[first].pattern, todo), parts_[first]);
    Part* part = &parts_[first];
    uint64_t differ = 0;
    for (int64_t i = 1; i < n; ++i) differ |= part[i].pattern ^ part[0].pattern;
    const uint64_t lowest = differ & -differ, side = compress(chunk.on, todo) & lowest;
    int64_t here = 0;  // on the side of the last part
    for (int64_t i = 0; i < n; ++i) {
        if ((part[i].pattern & lowest) != side) continue;
        const Part other = part[here];
        part[here++] = part[i];
        part[i] = other;
    }
    visit(chunk, todo, on, first, here);
    visit(chunk, todo, on, first + here, n - here);
}

template <int DIM, int WORDS>
void Box<DIM, WORDS>::visit_part(Chunk<DIM>& chunk, uint64_t on, const Part& part) {
    const Mask<WORDS> facets{{part.facets}};
    if (chunk.last && problem_.wanted == Wanted::patterns) {
        write_bits(chunk, on);
        int16_t place_of[SLOTS];
        if (!write_facets(facets, place_of)) return fail();
        return tick(1);
    }
    const Cell<WORDS> cell{corners_.size, part.n, facets, true};
    if (!corners_.room(cell.n)) return fail();
    const int64_t* member = members_.data() + part.members;
    for (int64_t i = 0; i < cell.n; ++i) corners_.data()[cell.begin + i] = corners_[member[i]];
    corners_.size += cell.n;
    leaf(chunk, cell, on);
    corners_.size = cell.begin;
}

}  // namespace
}  // namespace pellucid::PELLUCID_ISA
