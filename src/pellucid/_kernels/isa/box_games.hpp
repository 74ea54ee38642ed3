// The parts of a cell with many corners, and their facets, by small linear programs.
//
// The hyperplanes of m switches leave a part with the signs s on a face F of the cell exactly where a
// point of F has s_k z_k > 0 for all of them. By Ville (1938) either a convex combination of F's corners
// is such a point, or there are shares y_k >= 0, not all zero, with sum_k y_k s_k z_k <= 0 at every
// corner: a game in which one player chooses a corner and the other a switch. Its linear program has
// m + 1 rows, and a step takes one pass over the corners; no edges are needed, of which a cell of ten
// dimensions has five times as many as corners.
//
// Either answer is checked by itself: the point's values, or the sums at all corners, must exceed the
// errors of the corners' values. What the shares rule out, they rule out on all faces without a corner
// where the sum is not negative, and for all s that agree where y_k > 0. A corner of the cell answers
// for its own signs and its facets, so that few games are left. A switch bounds a part exactly where
// the part with the other sign of this switch is there.
//
// If a game is too close to say, the arrangement's vertices are found, with exact signs.
#pragma once

#include "box.hpp"

namespace pellucid::PELLUCID_ISA {
namespace {

constexpr uint64_t WHOLE = ~uint64_t(0);  // the face that is the cell itself

// Whether games are cheaper than vertices: n corners, m switches, and questions that no corner answers.
// In cycles, as measured.
PELLUCID_INLINE bool prefer_games(int64_t n, int m, int64_t questions) {
    const double game = 3 * double(n) * (m + 2) / D + 1000;
    return double(questions) * game < double(n) * smaller(double(150 + n), 700);
}

class Game {
public:
    enum Answer { no = -1, unknown = 0, yes = 1 };

    const uint64_t* masks;  // by corner: its facets; zeros from the last corner on
    const double* values;   // by switch and corner, at most 1 in size
    int64_t stride;         // corners, up to a multiple of 2 D
    int m;
    double error;  // of a value and of a sum of values

    // What the answer rests on.
    uint64_t face;            // yes: the facets that hold the point
    uint64_t still, support;  // no: facets with a corner where the sum is not negative; the shares

    // Whether a point of the face, whose corners have a bit of it, has the signs s.
    Answer play(uint64_t s, uint64_t face);

private:
    static constexpr int ROWS = AT_ONCE + 1;
    static constexpr int LEAST = -1;  // the variable that is the least value; -2 - k: its excess at k

    struct Reply {
        double value;
        int64_t corner;
    };
    Reply reply(const double* shares, uint64_t face);
    template <int USED>
    Reply scan(const double* factor, const double* const* column, uint64_t face);
    bool is_point() const;
    void begin(int64_t corner);
    bool enter(int variable);
    double value(int k, int64_t corner) const { return sign_[k] * values[k * stride + corner]; }

    double sign_[AT_ONCE];
    int row_of_least_;
    int basis_[ROWS];             // corners, or the variables below 0
    double inverse_[ROWS][ROWS];  // of the basis; the last column are the variables' values
};

// The corner of the face with the largest sum of shares; what is `still` open.
Game::Reply Game::reply(const double* shares, uint64_t face) {
    double factor[AT_ONCE];
    const double* column[AT_ONCE];
    int used = 0;
    support = 0;
    for (int k = 0; k < m; ++k) {
        if (shares[k] == 0) continue;
        support |= uint64_t(1) << k;
        factor[used] = shares[k] * sign_[k];
        column[used++] = values + k * stride;
    }
    switch (used) {
        case 1: return scan<1>(factor, column, face);
        case 2: return scan<2>(factor, column, face);
        case 3: return scan<3>(factor, column, face);
        case 4: return scan<4>(factor, column, face);
        case 5: return scan<5>(factor, column, face);
        case 6: return scan<6>(factor, column, face);
        case 7: return scan<7>(factor, column, face);
        case 8: return scan<8>(factor, column, face);
        case 9: return scan<9>(factor, column, face);
        default: return scan<10>(factor, column, face);
    }
}

template <int USED>
Game::Reply Game::scan(const double* factor, const double* const* column, uint64_t face) {
    constexpr double FAR = -8;  // below every sum
    vd by[USED], best[2] = {all(FAR), all(FAR)};
    vl best_at[2] = {}, at{}, open{};
    for (int j = 0; j < USED; ++j) by[j] = all(factor[j]);
    for (int i = 0; i < D; ++i) at[i] = i;
    for (int64_t i = 0; i < stride; i += 2 * D)
        for (int b = 0; b < 2; ++b) {
            const int64_t from = i + b * D;
            vd sum = by[0] * load_any(column[0] + from);
            for (int j = 1; j < USED; ++j) sum += by[j] * load_any(column[j] + from);
            vl mask;
            __builtin_memcpy(&mask, masks + from, sizeof mask);
            open |= (sum < all(-error)) ? vl{} : mask;
            const vd here = ((mask & int64_t(face)) != 0) ? sum : all(FAR);
            const vl better = here > best[b];
            best[b] = better ? here : best[b];
            best_at[b] = better ? at : best_at[b];
            at += D;
        }
    still = 0;
    Reply found{best[0][0], best_at[0][0]};
    for (int i = 0; i < D; ++i) {
        still |= uint64_t(open[i]);
        for (int b = 0; b < 2; ++b)
            if (best[b][i] > found.value) found = {best[b][i], best_at[b][i]};
    }
    return found;
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

Game::Answer Game::play(uint64_t s, uint64_t of) {
    double shares[AT_ONCE];
    for (int k = 0; k < m; ++k) sign_[k] = s >> k & 1 ? 1 : -1, shares[k] = 1.0 / m;
    Reply best = reply(shares, of);
    if ((still & of) == 0) return no;
    begin(best.corner);
    for (int step = 0; step < 64; ++step) {
        if (inverse_[row_of_least_][m] > error && is_point()) {
            face = ~uint64_t(0);
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
            for (int k = 0; k < m; ++k) sum += shares[k] = dual[k] < -1e-12 ? -dual[k] : 0;
            if (!(sum > 0.5)) return unknown;
            for (int k = 0; k < m; ++k) shares[k] /= sum;
            best = reply(shares, of);
            if ((still & of) == 0) return no;
            if (!(best.value > dual[m] + 1e-12)) return unknown;
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
    const int64_t n = cell.n, stride = (n + 2 * PAD - 1) / (2 * PAD) * (2 * PAD);
    const int m = gather(chunk, todo);
    if (!values_.room(stride * padded(m)) || !masks_.room(stride)) return fail(), false;
    const Corner<WORDS>* v = &corners_[cell.begin];
    Mask<WORDS>* masks = masks_.data();
    double* values = values_.data();
    for (int64_t i = 0; i < n; ++i) masks[i] = v[i].mask;
    for (int64_t i = n; i < stride; ++i) masks[i] = {};
    game.error = 0;
    for (int c = 0; c < m; c += D) {
        vd largest{}, slack{};
        for (int64_t i = 0; i < n; ++i) {
            const auto found = cut_.chunk.values(c, points_[v[i].point]);
            largest = max(largest, abs(found.values)), slack = max(found.slack, slack);
            for (int k = 0; k < D; ++k) values[(c + k) * stride + i] = found.values[k];
        }
        for (int k = c; k < m && k < c + D; ++k) {
            int exponent;
            __builtin_frexp(largest[k - c], &exponent);
            if (!(largest[k - c] > 1e-250 && largest[k - c] < 1e250)) return false;
            const double scale = __builtin_ldexp(1, -exponent);  // exact
            double* column = values + k * stride;
            for (int64_t i = 0; i < n; ++i) column[i] *= scale;
            for (int64_t i = n; i < stride; ++i) column[i] = 0;
            game.error = larger(slack[k - c] * scale, game.error);
        }
    }
    game.masks = &masks[0].w[0], game.values = values;
    game.stride = stride, game.m = m;
    game.error = (game.error + 64 * U) * UP;  // with the roundings of a sum
    return game.error < 1e-3;
}

// The facets of every part into which the switches in `todo` cut the cell, in facets_at_; where only a
// count is wanted, whether there is a part. False: not known.
template <int DIM, int WORDS>
bool Box<DIM, WORDS>::play(const Chunk<DIM>& chunk, const Cell<WORDS>& cell, uint64_t todo) {
    const int m = __builtin_popcountll(todo);
    const uint64_t all = (uint64_t(1) << m) - 1, facets = cell.used.w[0];
    const bool counts = problem_.wanted == Wanted::count;
    const Corner<WORDS>* v = &corners_[cell.begin];
    uint64_t by_sign[2][AT_ONCE] = {};  // facets with a corner where the switch has this sign
    for (uint64_t s = 0; s <= all; ++s) facets_at_[s] = members_at_[s] = 0;
    for (int64_t i = 0; i < cell.n; ++i) {
        const uint64_t s = compress(v[i].pos, todo), mask = v[i].mask.w[0];
        if ((s | compress(v[i].neg, todo)) != all) return false;
        facets_at_[s] |= mask;
    }
    for (uint64_t s = 0; s <= all; ++s)
        for (int k = 0; k < m; ++k) by_sign[s >> k & 1][k] |= facets_at_[s];
    int64_t questions = 0;
    for (uint64_t s = 0; s <= all; ++s) {
        possible_at_[s] = facets;
        for (int k = 0; k < m; ++k) possible_at_[s] &= by_sign[s >> k & 1][k];
        if (facets_at_[s] == 0)
            questions += possible_at_[s] != 0;
        else if (!counts)
            questions += __builtin_popcountll(possible_at_[s] & ~facets_at_[s]);
    }
    Game game;
    if (!prefer_games(cell.n, m, questions) || !begin_game(game, chunk, cell, todo)) return false;
    auto open = [&](uint64_t s) {
        return facets_at_[s] == 0 ? possible_at_[s] : counts ? 0 : possible_at_[s] & ~facets_at_[s];
    };
    for (uint64_t s = 0; s <= all; ++s)
        for (uint64_t rest; (rest = open(s)) != 0;) {
            this->worked(1 + cell.n / 64);
            const Game::Answer answer = game.play(s, facets_at_[s] ? rest & -rest : WHOLE);
            const uint64_t face = game.face & facets;
            if (stopped_ || answer == Game::unknown || (answer == Game::yes && face == 0)) return false;
            ++out_->by_filter;
            if (answer == Game::yes) {
                facets_at_[s] |= face;
                continue;
            }
            for (uint64_t other = 0; other <= all; ++other)
                if (((other ^ s) & game.support) == 0) possible_at_[other] &= game.still;
        }
    for (int k = 0; k < m; ++k)
        for (uint64_t s = 0; s <= all; ++s)
            if (facets_at_[s] && facets_at_[s ^ uint64_t(1) << k])
                facets_at_[s] |= uint64_t(1) << cut_.chunk.slot[k];
    return true;
}

}  // namespace
}  // namespace pellucid::PELLUCID_ISA
