// The parts of a cell with many corners, and their facets, by small linear programs.
//
// The hyperplanes of m switches leave a part with the signs s on a face F of the cell exactly where a
// point of F has s_k z_k > 0 for all of them. By Ville (1938) either a convex combination of F's corners
// is such a point, or there are shares y_k >= 0, not all zero, with sum_k y_k s_k z_k <= 0 at every
// corner: a game in which one player chooses a corner and the other a switch. Its linear program has
// m + 1 rows, one for each switch and one for the weights' sum, and a step takes one pass over the
// corners; no edges are needed, of which a cell of ten dimensions has five times as many as corners.
//
// Either answer is checked by itself: the point's values, or the sums at all corners, must exceed the
// errors of the corners' values, which are kept in single precision. What the shares rule out, they
// rule out on all faces without a corner where the sum is not negative, and for all s that agree where
// y_k > 0. A corner of the cell answers for its own signs and its facets, so that few games are left. A
// switch bounds a part exactly where the part with the other sign of this switch is there.
//
// The facets of the cell do not tell all parts: one may lie within the cell and touch none of them. All
// of its facets then lie on the switches' hyperplanes, and as it is bounded, the outer normals of its
// facets span the space by nonnegative combinations, which takes d + 1 of them. So with m <= d a part
// that has no facet of the cell is not there, and with more switches the game on the cell itself says
// whether it is. None of this needs a simple cell, only a bounded one without a corner on a hyperplane.
//
// If a game is too close to say, the arrangement's vertices are found, with exact signs.
#pragma once

#include "box.hpp"

namespace pellucid::PELLUCID_ISA {
namespace {

constexpr int AT_A_TIME = 31;                   // facets that one game knows
constexpr uint32_t WHOLE = 1u << AT_A_TIME;      // the face that is the cell itself
constexpr int F = 2 * D;                         // floats in a vector

// Whether games are cheaper than vertices: n corners, m switches, and questions that no corner answers.
// In cycles, as measured.
PELLUCID_INLINE bool prefer_games(int64_t n, int m, int64_t questions) {
    const double game = 2 * double(n) * (m + 2) / D + 1000;
    return double(questions) * game < double(n) * smaller(double(150 + n), 700);
}

class Game {
public:
    enum Answer { no = -1, unknown = 0, yes = 1 };

    const uint32_t* masks;  // by corner: WHOLE and its facets; zeros from the last corner on
    const float* values;    // by switch and corner, at most 1 in size
    int64_t stride;         // corners, up to a multiple of 2 F
    int m;
    float error;  // of a value and of a sum of values, with that of single precision

    // What the answer rests on.
    uint32_t face;     // yes: the facets that hold the point
    uint32_t still;    // no: facets with a corner where the sum is not negative
    uint64_t support;  // no: the switches with a share

    // Whether a point of the face, whose corners have a bit of it, has the signs s.
    Answer play(uint64_t s, uint32_t face);

private:
    static constexpr int ROWS = AT_ONCE + 1;
    static constexpr int LEAST = -1;  // the variable that is the least value; -2 - k: its excess at k

    struct Reply {
        float value;
        int64_t corner;
    };
    template <bool ALL>
    Reply reply(uint32_t face);
    template <bool ALL, int USED>
    Reply scan(const float* factor, const float* const* column, uint32_t face);
    bool ruled_out(uint32_t face);
    bool is_point() const;
    void begin(int64_t corner);
    bool enter(int variable);
    double value(int k, int64_t corner) const { return sign_[k] * values[k * stride + corner]; }

    double sign_[AT_ONCE], shares_[AT_ONCE];
    uint64_t signs_ = 0;
    bool begun_ = false;
    int row_of_least_;
    int basis_[ROWS];             // corners, or the variables below 0
    double inverse_[ROWS][ROWS];  // of the basis; the last column are the variables' values
};

// The corner of the face with the largest sum of shares; or, of ALL corners, which facets are `still` open.
template <bool ALL>
Game::Reply Game::reply(uint32_t face) {
    float factor[AT_ONCE];
    const float* column[AT_ONCE];
    int used = 0;
    support = 0;
    for (int k = 0; k < m; ++k) {
        if (shares_[k] == 0) continue;
        support |= uint64_t(1) << k;
        factor[used] = float(shares_[k] * sign_[k]);
        column[used++] = values + k * stride;
    }
    switch (used) {
        case 1: return scan<ALL, 1>(factor, column, face);
        case 2: return scan<ALL, 2>(factor, column, face);
        case 3: return scan<ALL, 3>(factor, column, face);
        case 4: return scan<ALL, 4>(factor, column, face);
        case 5: return scan<ALL, 5>(factor, column, face);
        case 6: return scan<ALL, 6>(factor, column, face);
        case 7: return scan<ALL, 7>(factor, column, face);
        case 8: return scan<ALL, 8>(factor, column, face);
        case 9: return scan<ALL, 9>(factor, column, face);
        default: return scan<ALL, 10>(factor, column, face);
    }
}

template <bool ALL, int USED>
Game::Reply Game::scan(const float* factor, const float* const* column, uint32_t face) {
    constexpr float FAR = -8;  // below every sum
    vf by[USED], best[2] = {every(FAR), every(FAR)};
    vi best_at[2] = {}, at{}, open{};
    for (int j = 0; j < USED; ++j) by[j] = every(factor[j]);
    for (int i = 0; i < F; ++i) at[i] = i;
    for (int64_t i = 0; i < stride; i += 2 * F)
        for (int b = 0; b < 2; ++b) {
            const int64_t from = i + b * F;
            vf sum = by[0] * floats(column[0] + from);
            for (int j = 1; j < USED; ++j) sum += by[j] * floats(column[j] + from);
            vi mask;
            __builtin_memcpy(&mask, masks + from, sizeof mask);
            if constexpr (ALL) {
                open |= (sum < every(-error)) ? vi{} : mask;
            } else {
                const vf here = ((mask & int32_t(face)) != 0) ? sum : every(FAR);
                const vi better = here > best[b];
                best[b] = better ? here : best[b];
                best_at[b] = better ? at : best_at[b];
                at += F;
            }
        }
    Reply found{best[0][0], best_at[0][0]};
    if constexpr (ALL) still = 0;
    for (int i = 0; i < F; ++i) {
        if constexpr (ALL) still |= uint32_t(open[i]);
        for (int b = 0; b < 2; ++b)
            if (best[b][i] > found.value) found = {best[b][i], best_at[b][i]};
    }
    return found;
}

// Whether the shares prove that no point of the face has all signs.
bool Game::ruled_out(uint32_t face) {
    reply<true>(face);
    return (still & face) == 0;
}

// One corner, and the switch with the least value there.
void Game::begin(int64_t corner) {
    int least = 0;
    for (int k = 1; k < m; ++k)
        if (value(k, corner) < value(least, corner)) least = k;
    for (int i = 0; i <= m; ++i)
        for (int j = 0; j <= m; ++j) inverse_[i][j] = 0;
    for (int k = 0; k < m; ++k) {
        basis_[k] = k == least ? LEAST : -2 - k;
        inverse_[k][k] = -1;
        inverse_[k][least] = k == least ? -1 : 1;
        inverse_[k][m] = value(k, corner) - (k == least ? 0 : value(least, corner));
    }
    row_of_least_ = least;
    basis_[m] = int(corner);
    inverse_[m][m] = 1;
}

// A step of the simplex method; false where none is possible.
bool Game::enter(int variable) {
    double step[ROWS];
    for (int i = 0; i <= m; ++i) {
        const double* row = inverse_[i];
        if (variable < 0) {
            step[i] = -row[-2 - variable];
            continue;
        }
        step[i] = row[m];
        for (int k = 0; k < m; ++k) step[i] += row[k] * value(k, variable);
    }
    int leaves = -1;
    double least = 0;
    for (int i = 0; i <= m; ++i) {
        if (i == row_of_least_ || !(step[i] > 1e-12)) continue;
        const double ratio = inverse_[i][m] / step[i];
        if (leaves < 0 || ratio < least) leaves = i, least = ratio;
    }
    if (leaves < 0) return false;
    double* pivot = inverse_[leaves];
    for (int j = 0; j <= m; ++j) pivot[j] /= step[leaves];
    for (int i = 0; i <= m; ++i) {
        if (i == leaves) continue;
        for (int j = 0; j <= m; ++j) inverse_[i][j] -= step[i] * pivot[j];
    }
    basis_[leaves] = variable;
    return true;
}

// Whether the combination of the basis's corners is proved to have all signs.
bool Game::is_point() const {
    double weights = 0, sums[AT_ONCE] = {};
    for (int i = 0; i <= m; ++i) {
        if (basis_[i] < 0 || !(inverse_[i][m] > 1e-12)) continue;
        weights += inverse_[i][m];
        for (int k = 0; k < m; ++k) sums[k] += inverse_[i][m] * value(k, basis_[i]);
    }
    for (int k = 0; k < m; ++k)
        if (!(sums[k] > weights * error)) return false;
    return true;
}

Game::Answer Game::play(uint64_t s, uint32_t of) {
    if (!begun_ || s != signs_)  // else the last shares are a good start
        for (int k = 0; k < m; ++k) sign_[k] = s >> k & 1 ? 1 : -1, shares_[k] = 1.0 / m;
    begun_ = true, signs_ = s;
    Reply best = reply<false>(of);
    if (best.value < -error && ruled_out(of)) return no;
    begin(best.corner);
    for (int step = 0; step < 64; ++step) {
        if (inverse_[row_of_least_][m] > error && is_point()) {
            face = ~uint32_t(0);
            for (int i = 0; i <= m; ++i)
                if (basis_[i] >= 0 && inverse_[i][m] > 1e-12) face &= masks[basis_[i]];
            return yes;
        }
        const double* dual = inverse_[row_of_least_];
        int enters = 0;
        double most = 1e-12;
        for (int k = 0; k < m; ++k)
            if (dual[k] > most) most = dual[k], enters = -2 - k;
        if (enters == 0) {
            double sum = 0;
            for (int k = 0; k < m; ++k) sum += shares_[k] = dual[k] < -1e-12 ? -dual[k] : 0;
            if (!(sum > 0.5)) return begun_ = false, unknown;  // rounding has spoiled the basis
            for (int k = 0; k < m; ++k) shares_[k] /= sum;
            best = reply<false>(of);
            if (best.value < -error && ruled_out(of)) return no;
            if (!(best.value > dual[m] + error)) return unknown;  // optimal, but within the errors
            enters = int(best.corner);
        }
        if (!enter(enters)) return unknown;
    }
    return unknown;
}

// The values of the switches in `todo` at the cell's corners; false where their errors are no use.
template <int DIM, int WORDS>
bool Box<DIM, WORDS>::begin_game(Game& game, const Chunk<DIM>& chunk, const Cell<WORDS>& cell,
                                 uint64_t todo) {
    const int64_t n = cell.n, stride = (n + 2 * F - 1) / (2 * F) * (2 * F);
    const int m = gather(chunk, todo);
    if (!game_values_.room(stride * padded(m)) || !game_masks_.room(stride)) return fail(), false;
    const Corner<WORDS>* v = &corners_[cell.begin];
    float* values = game_values_.data();
    vd largest{}, slack{};
    for (int c = 0; c < m; c += D) {
        vd scale{};  // powers of two, so that no value exceeds 1
        for (int k = c; k < m && k < c + D; ++k) {
            const double most = cut_.chunk.norm[k] * reach_ + magnitude(cut_.chunk.c[k]);
            if (!(most > 1e-250 && most < 1e250)) return false;
            int exponent;
            __builtin_frexp(most, &exponent);
            scale[k - c] = __builtin_ldexp(1, -exponent);
        }
        for (int64_t i = 0; i < n; ++i) {
            const auto found = cut_.chunk.values(c, points_[v[i].point]);
            const vd scaled = found.values * scale;
            largest = max(abs(scaled), largest), slack = max(found.slack * scale, slack);
            for (int k = 0; k < D; ++k) values[(c + k) * stride + i] = float(scaled[k]);
        }
    }
    for (int k = 0; k < m; ++k)
        for (int64_t i = n; i < stride; ++i) values[k * stride + i] = 0;
    game.masks = game_masks_.data(), game.values = values, game.stride = stride, game.m = m;
    // A value, a share and every step of a sum are rounded to 24 bits.
    game.error = float((highest(slack) + (m + 4) * 0x1p-23 * highest(largest)) * UP);
    return game.error < 1e-3f;
}

// The facets of every part into which the switches in `todo` cut the cell, in facets_at_; where only a
// count is wanted, whether there is a part. False: not known.
template <int DIM, int WORDS>
bool Box<DIM, WORDS>::play(const Chunk<DIM>& chunk, const Cell<WORDS>& cell, uint64_t todo) {
    if (cell.n < problem_.games_from) return false;
    const int m = __builtin_popcountll(todo);
    const uint64_t all = cut_.switches;
    const Corner<WORDS>* v = &corners_[cell.begin];
    if (!ask_corners(cell, todo)) return false;
    if (problem_.games_from > 0 && !prefer_games(cell.n, m, open_questions())) return false;
    Game game;
    if (!begin_game(game, chunk, cell, todo)) return false;
    for (uint64_t rest = cell.used.w[0]; rest;) {
        const uint64_t these = lowest(rest, AT_A_TIME);
        rest &= ~these;
        uint32_t* masks = game_masks_.data();
        for (int64_t i = 0; i < game.stride; ++i)
            masks[i] = i < cell.n ? uint32_t(compress(v[i].mask.w[0], these)) | WHOLE : 0;
        if (!play(game, these)) return false;
    }
    for (int k = 0; k < m; ++k)
        for (uint64_t s = 0; s <= all; ++s)
            if (occurs_at_[s] == Game::yes && occurs_at_[s ^ uint64_t(1) << k] == Game::yes)
                facets_at_[s] |= uint64_t(1) << cut_.chunk.slot[k];
    return true;
}

// What the cell's corners tell of the parts, and what they leave possible; false where a switch is zero
// at one of them.
template <int DIM, int WORDS>
bool Box<DIM, WORDS>::ask_corners(const Cell<WORDS>& cell, uint64_t todo) {
    const int m = __builtin_popcountll(todo);
    const uint64_t all = cut_.switches;
    const Corner<WORDS>* v = &corners_[cell.begin];
    uint64_t by_sign[2][AT_ONCE] = {};  // facets with a corner where the switch has this sign
    for (uint64_t s = 0; s <= all; ++s) facets_at_[s] = members_at_[s] = 0;
    for (int64_t i = 0; i < cell.n; ++i) {
        const uint64_t s = compress(v[i].pos, todo);
        if ((s | compress(v[i].neg, todo)) != all) return false;
        facets_at_[s] |= v[i].mask.w[0];
    }
    for (uint64_t s = 0; s <= all; ++s)
        for (int k = 0; k < m; ++k) by_sign[s >> k & 1][k] |= facets_at_[s];
    for (uint64_t s = 0; s <= all; ++s) {
        possible_at_[s] = cell.used.w[0];
        for (int k = 0; k < m; ++k) possible_at_[s] &= by_sign[s >> k & 1][k];
        occurs_at_[s] = facets_at_[s] ? Game::yes : Game::unknown;
        settle_without_facets(s);
    }
    return true;
}

// A part that can have none of the cell's facets is not there, unless it can lie within the cell.
template <int DIM, int WORDS>
void Box<DIM, WORDS>::settle_without_facets(uint64_t s) {
    const bool within = __builtin_popcountll(cut_.switches) > d_;
    if (!within && possible_at_[s] == 0) occurs_at_[s] = Game::no;
}

// Games to be played, if none of them answered for another.
template <int DIM, int WORDS>
int64_t Box<DIM, WORDS>::open_questions() const {
    int64_t questions = 0;
    for (uint64_t s = 0; s <= cut_.switches; ++s) {
        if (occurs_at_[s] == Game::unknown)
            ++questions;
        else if (!cut_.counts)
            questions += __builtin_popcountll(possible_at_[s] & ~facets_at_[s]);
    }
    return questions;
}

// Whether the parts are there and have `these` facets, after all that the corners tell by themselves.
// False where a game is too close: the vertices then answer, and what was found here is not used.
template <int DIM, int WORDS>
bool Box<DIM, WORDS>::play(Game& game, uint64_t these) {
    const uint64_t all = cut_.switches;
    for (uint64_t s = 0; s <= all;) {
        const bool known = occurs_at_[s] != Game::unknown;
        const uint64_t open = cut_.counts ? 0 : possible_at_[s] & ~facets_at_[s] & these;
        if (known && open == 0) {
            ++s;
            continue;
        }
        this->worked(1 + game.stride / 64);
        const Game::Answer answer =
            game.play(s, known ? uint32_t(compress(open & -open, these)) : WHOLE);
        if (stopped_ || answer == Game::unknown) return false;
        ++out_->by_filter;
        if (answer == Game::yes) {
            facets_at_[s] |= expand(game.face & ~WHOLE, these);
            occurs_at_[s] = Game::yes;
            continue;
        }
        const bool nowhere = !(game.still & WHOLE);
        const uint64_t still = nowhere ? 0 : expand(game.still & ~WHOLE, these) | ~these;
        for (uint64_t other = 0; other <= all; ++other) {
            if ((other ^ s) & game.support) continue;
            possible_at_[other] &= still;
            if (nowhere) occurs_at_[other] = Game::no;
            if (occurs_at_[other] == Game::unknown) settle_without_facets(other);
        }
    }
    return true;
}

}  // namespace
}  // namespace pellucid::PELLUCID_ISA
