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
    if constexpr (DIM == 1) return false;  // all that follows is left out of the object
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
        // Where a limit ends the search, the parts counted are there: the cell has no fewer.
        if (!known && !stopped_) out_->regions = regions;
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
    cut_.begin = corners_.size, cut_.stride = padded(m), cut_.left_out = 0;
    if (corners_.size + cell.n > INT32_MAX || !corners_.room(cell.n) ||
        !values_.room(cell.n * cut_.stride) || !errors_.room(cell.n))
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
    begin_values();
    return cut_section(whole, 0, cut_.switches & ~cut_.left_out);
}

// The bit of the switch that crosses the most lines.
template <int DIM, int WORDS>
uint64_t Box<DIM, WORDS>::most_crossed() const {
    const Line* line = lines_.data();
    const int64_t n_lines = lines_.size;
    int64_t best = -1;
    uint64_t found = 0;
    for (uint64_t rest = cut_.switches; rest; rest &= rest - 1) {
        const int k = __builtin_ctzll(rest);
        int64_t n = 0;
        for (int64_t i = 0; i < n_lines; ++i) n += line[i].across >> k & 1;
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
        const int64_t n_new = list_crossed(first, last, k);
        if (stopped_) return false;
        const Section section{corners_.size, corners_.size + n_new, of.tight | this_bit};
        if (section.end > INT32_MAX || !corners_.room(n_new) || !points_.room(n_new) ||
            !sections_.push(section) ||
            !values_.room((section.end - cut_.begin) * cut_.stride) ||
            !errors_.room(section.end - cut_.begin))
            return fail(), false;
        const uint64_t asked = cut_.counts ? rest : cut_.switches & ~this_bit;
        const uint64_t enough = cut_.counts && (rest & (rest - 1)) == 0 ? rest : 0;
        uint64_t both = 0;
        const bool simple = cut_.stride == D       ? meet_all<1>(n_new, k, asked, enough, both)
                            : cut_.stride == 2 * D ? meet_all<2>(n_new, k, asked, enough, both)
                                                   : meet_all<0>(n_new, k, asked, enough, both);
        if (!simple) return false;
        const uint64_t still_lower = rest & both;
        if (still_lower == 0) continue;
        if (cut_.counts && (still_lower & (still_lower - 1)) == 0) {
            tick(1);
            continue;
        }
        add_values(section, k, asked);
        find_lines(section.begin, n_new, still_lower);
        if (!cut_section(section, last, still_lower)) return false;
        lines_.size = last;
    }
    return true;
}

// Those lines of [first, last) that switch k crosses, in crossed_; how many.
template <int DIM, int WORDS>
int64_t Box<DIM, WORDS>::list_crossed(int64_t first, int64_t last, int k) {
    crossed_.size = 0;
    if (!crossed_.room(last - first)) return fail(), 0;
    const Line* line = lines_.data();
    int32_t* crossed = crossed_.data();
    int64_t n = 0;
    for (int64_t i = first; i < last; ++i) {
        crossed[n] = int32_t(i);
        n += line[i].across >> k & 1;
    }
    return n;
}

// The edges of a section that a switch in `lower` crosses: two of its corners are the ends of one
// exactly where they share d - 1 of their d facets and hyperplanes.
template <int DIM, int WORDS>
void Box<DIM, WORDS>::find_lines(int64_t begin, int64_t n, uint64_t lower) {
    const bool many = n > MANY * d_;
    if (lines_.size + n * d_ > INT32_MAX || !lines_.room(n * d_) || !masks_.room(n + PAD) ||
        (many && !table_.clear(n * d_ / 2)))
        return fail();
    Mask<WORDS>* masks = masks_.data();
    const Corner<WORDS>* v = &corners_[begin];
    for (int64_t i = 0; i < n; ++i) masks[i] = v[i].mask;
    for (int64_t i = n; i < n + PAD; ++i) masks[i] = {};  // far from every mask
    Line* line = lines_.data() + lines_.size;
    const Line* end = line + n * d_;  // only unproved signs may be wrong, and give more
    auto add = [&](int64_t i, int64_t j) {
        const uint64_t across = (v[i].pos ^ v[j].pos) & lower;
        *line = {{int32_t(begin + i), int32_t(begin + j)}, across};
        line += across != 0;
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
    } else {
        for (int64_t i = 0; i < n; ++i)
            for (int64_t from = i + 1; from < n; from += 64) {
                uint64_t near = 0;
                for (int64_t j = from; j < n && j < from + 64; j += D)
                    near |= uint64_t(single_bits(masks[i].w[0], &masks[j].w[0])) << (j - from);
                for (; near && line < end; near &= near - 1) add(i, from + __builtin_ctzll(near));
            }
    }
    lines_.size = line - lines_.data();
}

// The vertices in which switch k crosses the first n of the crossed lines, with their signs of the
// switches `asked` for; false where one of them is zero. `both`: the switches that have both signs
// among them; with those that are `enough` it ends early.
//
// All switches are affine along a line, so that their values at the vertex are known, and most of their
// signs, without its coordinates. A sign that both ends of the line share needs no value.
template <int DIM, int WORDS>
template <int VECTORS>
bool Box<DIM, WORDS>::meet_all(int64_t n, int k, uint64_t asked, uint64_t enough, uint64_t& both) {
    const Mask<WORDS> slot = Mask<WORDS>::of(cut_.chunk.slot[k]);
    uint64_t above = 0, below = 0;
    Crossings at;
    for (int64_t from = 0; from < n && !(above & below & enough); from += BLOCK) {
        const int32_t* crossed = crossed_.data() + from;
        const int n_here = n - from < BLOCK ? int(n - from) : BLOCK;
        const int64_t first = corners_.size;
        Corner<WORDS>* w = corners_.data() + first;
        at.n = 0;
        for (int i = 0; i < n_here; ++i) {
            const Line& line = lines_[crossed[i]];
            const Corner<WORDS>&v0 = corners_[line.ends[0]], &v1 = corners_[line.ends[1]];
            w[i] = {(v0.mask & v1.mask) | slot, v0.pos & v1.pos, v0.neg & v1.neg, 0};
            at.vertex[at.n] = i, at.open[at.n] = (v0.pos ^ v1.pos) & asked;
            at.n += at.open[at.n] != 0 || cut_.placed;
        }
        corners_.size += n_here;
        locate_crossings(crossed, k, at);
        for (int j = 0; j < at.n; ++j) {
            const int i = at.vertex[j];
            const Line& line = lines_[crossed[i]];
            const Signs found = interpolate<VECTORS>(line, at.t[j], at.off[j], first + i);
            const uint64_t open = at.open[j], proved = open & (found.pos | found.neg);
            w[i].pos |= found.pos & open, w[i].neg |= found.neg & open;
            out_->by_filter += __builtin_popcountll(proved);
            if (cut_.placed)
                w[i].point = place(at.t[j], at.off[j], corners_[line.ends[0]].point,
                                   corners_[line.ends[1]].point, w[i].mask);
            if (open != proved && !decide_at(w[i], open ^ proved)) return false;
        }
        for (int i = 0; i < n_here; ++i) above |= w[i].pos, below |= w[i].neg;
    }
    both = above & below;
    return true;
}

// Where switch k crosses the lines of which the crossings hold the vertices.
template <int DIM, int WORDS>
void Box<DIM, WORDS>::locate_crossings(const int32_t* lines, int k, Crossings& at) {
    double start[BLOCK], end[BLOCK], off_start[BLOCK], off_end[BLOCK];
    for (int j = 0; j < at.n; ++j) {
        const auto [from, to] = lines_[lines[at.vertex[j]]].ends;
        start[j] = values_of(from)[k], end[j] = values_of(to)[k];
        off_start[j] = errors_[from - cut_.begin], off_end[j] = errors_[to - cut_.begin];
    }
    for (int j = at.n; j % D != 0; ++j) start[j] = end[j] = off_start[j] = off_end[j] = 1;
    for (int j = 0; j < at.n; j += D) {
        const Where<vd> where{load_any(start + j), load_any(end + j), load_any(off_start + j),
                              load_any(off_end + j)};
        __builtin_memcpy(at.t + j, &where.t, sizeof(vd));
        __builtin_memcpy(at.off + j, &where.off, sizeof(vd));
    }
}

// The signs of the `open` switches at a new vertex, beyond what their values prove.
template <int DIM, int WORDS>
bool Box<DIM, WORDS>::decide_at(Corner<WORDS>& w, uint64_t open) {
    if (!cut_.placed) {  // refine() finds it from anywhere
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

// The values of all switches at the share t of a line, which is to be that corner, and the signs that
// they prove. Each corner has VECTORS of them, or (0) any number.
template <int DIM, int WORDS>
template <int VECTORS>
PELLUCID_INLINE typename Box<DIM, WORDS>::Signs Box<DIM, WORDS>::interpolate(const Line& line, double t,
                                                                        double off, int64_t corner) {
    const int vectors = VECTORS ? VECTORS : int(cut_.stride / D);
    const auto [i, j] = line.ends;
    const double *start = values_of(i), *end = values_of(j);
    double* value = values_of(corner);
    vd longest{}, between[VECTORS ? VECTORS : 64 / D];
    for (int c = 0; c < vectors; ++c) {
        const vd from = load_any(start + c * D), step = load_any(end + c * D) - from;
        between[c] = from + all(t) * step;
        __builtin_memcpy(value + c * D, &between[c], sizeof(vd));
        longest = max(longest, abs(step));
    }
    const double error = interpolation_error(t, off, errors_[i - cut_.begin], errors_[j - cut_.begin],
                                             highest(longest), cut_.largest);
    errors_.data()[corner - cut_.begin] = error;
    Signs found{};
    for (int c = 0; c < vectors; ++c) {
        found.pos |= uint64_t(greater(between[c], all(error))) << c * D;
        found.neg |= uint64_t(greater(-between[c], all(error))) << c * D;
    }
    return found;
}

// The values at those corners of a section that needed none for their signs.
template <int DIM, int WORDS>
void Box<DIM, WORDS>::add_values(const Section& section, int k, uint64_t asked) {
    if (cut_.placed) return;
    Crossings at;
    const int64_t n = section.end - section.begin;
    for (int64_t from = 0; from < n; from += BLOCK) {
        const int32_t* crossed = crossed_.data() + from;
        at.n = 0;
        for (int i = 0; i < BLOCK && from + i < n; ++i) {
            const Line& line = lines_[crossed[i]];
            const uint64_t differ = corners_[line.ends[0]].pos ^ corners_[line.ends[1]].pos;
            at.vertex[at.n] = i;
            at.n += (differ & asked) == 0;
        }
        locate_crossings(crossed, k, at);
        for (int j = 0; j < at.n; ++j)
            interpolate<0>(lines_[crossed[at.vertex[j]]], at.t[j], at.off[j],
                           section.begin + from + at.vertex[j]);
    }
}

// The values of all switches at the corners of the cell.
template <int DIM, int WORDS>
void Box<DIM, WORDS>::begin_values() {
    vd largest{};
    double most = 0;
    for (int64_t corner = cut_.begin; corner < corners_.size; ++corner) {
        const Point<DIM>& point = points_[corners_[corner].point];
        double* values = values_of(corner);
        vd off{};
        for (int64_t c = 0; c < cut_.stride; c += D) {
            const auto [found, slack] = cut_.chunk.values(int(c), point);
            __builtin_memcpy(values + c, &found, sizeof found);
            off = max(off, slack), largest = max(largest, abs(found));
        }
        const double error = highest(off);
        errors_.data()[corner - cut_.begin] = error;
        most = larger(most, error);
    }
    cut_.largest = highest(largest) + most;
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
    for (int64_t n = 0; n < sections_.size; ++n) find_facets(sections_[n]);
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
    around_each([&](uint64_t at, int64_t i) { members_.data()[members_at_[at]++] = int32_t(i); });
    members_.size = end;
}

// Adds the facets through a section's corners to the parts around them: once for all corners that have
// the same signs.
template <int DIM, int WORDS>
void Box<DIM, WORDS>::find_facets(const Section& section) {
    const auto [begin, end, tight] = section;
    const Corner<WORDS>* v = corners_.data();
    int64_t n = 0;
    for (int64_t i = begin; i < end; ++i) {
        uint64_t& through = through_at_[v[i].pos];
        if (through == 0) signs_[n++] = uint16_t(v[i].pos);
        through |= v[i].mask.w[0];
    }
    for (int64_t i = 0; i < n; ++i) {
        uint64_t& through = through_at_[signs_[i]];
        uint64_t* around = facets_at_ + signs_[i];
        for (uint64_t some = tight;; some = (some - 1) & tight) {
            around[some] |= through;
            if (some == 0) break;
        }
        through = 0;
    }
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
    const int32_t* member = members_.data() + part.members;
    for (int64_t i = 0; i < cell.n; ++i) corners_.data()[cell.begin + i] = corners_[member[i]];
    corners_.size += cell.n;
    leaf(chunk, cell, on);
    corners_.size = cell.begin;
}

}  // namespace
}  // namespace pellucid::PELLUCID_ISA
