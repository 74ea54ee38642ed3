#include "merge_regions.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <unordered_map>

#include "pair_facets.hpp"
#include "residue_maps.hpp"

namespace pellucid {

namespace {

using Pairs = std::vector<std::pair<int64_t, int64_t>>;

uint64_t mixed(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

const uint8_t* row(const FoundRegions& of, int64_t region) { return of.patterns + region * of.bytes; }

// Exact numbers under packed patterns.
class ExactRows {
public:
    explicit ExactRows(const FoundRegions& of) : of_(of), maps_(of.layers, of.n_layers, of.domain) {
        for (int32_t l = 0; l < of.n_layers; ++l)
            words_.emplace_back(size_t(of.layers[l].switches() + 63) / 64 + 1);
    }

    void follow(int64_t region) {
        int64_t at = 0;
        pointers_.clear();
        for (int32_t l = 0; l < of_.n_layers; ++l) {
            auto& words = words_[size_t(l)];
            std::fill(words.begin(), words.end(), 0);
            for (int64_t i = 0; i < of_.layers[l].switches(); ++i, ++at)
                if (bit_of(row(of_, region), at)) words[size_t(i >> 6)] |= uint64_t(1) << (i & 63);
            pointers_.push_back(words.data());
        }
    }

    const std::vector<Dyadic>& z(int32_t layer, int32_t unit) {
        return maps_.affine(pointers_.data(), layer, unit);
    }

    std::vector<Dyadic> output() {
        std::vector<Dyadic> all;
        for (int32_t k = 0; k < of_.layers[of_.n_layers - 1].units; ++k) {
            const auto& z_k = z(of_.n_layers - 1, k);
            all.insert(all.end(), z_k.begin(), z_k.end());
        }
        return all;
    }

private:
    const FoundRegions& of_;
    ExactPredicates maps_;
    std::vector<std::vector<uint64_t>> words_;
    std::vector<const uint64_t*> pointers_;
};

// --- facets ----------------------------------------------------------------------------------------

// Facets on which several switches vanish together: their partners have all of them flipped.
class ManyFlips {
public:
    explicit ManyFlips(const FoundRegions& of) : of_(of), maps_(of.layers, of.n_layers, of.domain) {}

    void look_at(int64_t facet, int32_t region);
    void add_to(Pairs& pairs) const;

private:
    std::vector<int64_t> perhaps_zero(int64_t number);
    bool vanishes(int64_t number, int64_t other);

    const FoundRegions& of_;
    ResidueMaps maps_;
    std::unique_ptr<ExactRows> exact_;
    // By switch, the switches that vanish with it, and the pattern without those.
    std::map<std::vector<int64_t>, int64_t> sides_[2];
};

// Switches whose maps are multiples of this one's, as far as residues say.
std::vector<int64_t> ManyFlips::perhaps_zero(int64_t number) {
    const int columns = maps_.columns();
    std::vector<uint32_t> s(size_t(columns), 0), t(size_t(columns), 0);
    maps_.switch_row(number, s.data());
    int p = 0;
    while (p + 1 < columns && s[size_t(p)] == 0) ++p;
    std::vector<int64_t> found;
    for (int64_t other = 0; other < maps_.n_switches(); ++other) {
        maps_.switch_row(other, t.data());
        bool multiple = true;
        for (int i = 0; i < columns && multiple; ++i)
            multiple = ResidueMaps::times(t[size_t(i)], s[size_t(p)]) ==
                       ResidueMaps::times(t[size_t(p)], s[size_t(i)]);
        if (multiple) found.push_back(other);
    }
    return found;
}

// Whether a switch is a multiple of another, exactly.
bool ManyFlips::vanishes(int64_t number, int64_t other) {
    std::vector<Dyadic> rows[2];
    const int64_t numbers[2] = {number, other};
    for (int i = 0; i < 2; ++i) {
        const int32_t l = maps_.layer_of(numbers[i]);
        const int kinks = of_.layers[l].n_kinks;
        const int64_t index = numbers[i] - maps_.first_of(l);
        rows[i] = exact_->z(l, int32_t(index / kinks));
        rows[i].back().add(Dyadic(of_.layers[l].kink[index % kinks]), true);
    }
    const auto &s = rows[0], &t = rows[1];
    size_t p = 0;
    while (p + 1 < s.size() && s[p].is_zero()) ++p;
    for (size_t i = 0; i < s.size(); ++i)
        if (!(t[i] * s[p] == t[p] * s[i])) return false;
    return true;
}

void ManyFlips::look_at(int64_t facet, int32_t region) {
    const uint8_t* pattern = row(of_, region);
    const int64_t number = of_.facets[facet];
    maps_.follow(pattern, of_.bytes);
    const std::vector<int64_t> candidates = perhaps_zero(number);
    if (candidates.size() < 2) return;  // the switch alone vanishes: its neighbour was not found
    if (!exact_) exact_ = std::make_unique<ExactRows>(of_);
    exact_->follow(region);
    std::vector<int64_t> name{number};
    std::vector<uint8_t> rest(pattern, pattern + of_.bytes);
    for (const int64_t other : candidates)
        if (vanishes(number, other)) {
            name.push_back(other);
            rest[size_t(other >> 3)] &= uint8_t(~(1u << (other & 7)));
        }
    name.push_back(-1);
    name.insert(name.end(), rest.begin(), rest.end());
    sides_[bit_of(pattern, number)][name] = facet;
}

void ManyFlips::add_to(Pairs& pairs) const {
    for (const auto& [name, facet] : sides_[0]) {
        const auto partner = sides_[1].find(name);
        if (partner != sides_[1].end()) pairs.emplace_back(facet, partner->second);
    }
}

}  // namespace

std::vector<int32_t> owner_of_facets(const FoundRegions& of) {
    std::vector<int32_t> owner(size_t(of.n > 0 ? of.offsets[of.n] : 0));
    for (int64_t r = 0; r < of.n; ++r)
        for (int64_t f = of.offsets[r]; f < of.offsets[r + 1]; ++f) owner[size_t(f)] = int32_t(r);
    return owner;
}

Pairs facet_pairs(const FoundRegions& of) {
    Pairs pairs;
    if (of.n < 2) return pairs;
    const FacetPairs single = pair_facets({of.patterns, of.n, of.bytes, of.offsets, of.facets});
    for (size_t i = 0; i < single.pairs.size(); i += 2)
        pairs.emplace_back(single.pairs[i], single.pairs[i + 1]);
    if (single.alone.empty()) return pairs;
    const std::vector<int32_t> owner = owner_of_facets(of);
    const size_t first = pairs.size();
    ManyFlips flips(of);
    for (const int64_t facet : single.alone) flips.look_at(facet, owner[size_t(facet)]);
    flips.add_to(pairs);
    for (size_t i = first; i < pairs.size(); ++i)
        if (owner[size_t(pairs[i].first)] > owner[size_t(pairs[i].second)])
            std::swap(pairs[i].first, pairs[i].second);
    return pairs;
}

// --- maps ------------------------------------------------------------------------------------------

namespace {

class Equality {
public:
    explicit Equality(const FoundRegions& of) : of_(of) {
        ResidueMaps maps(of.layers, of.n_layers, of.domain);
        size_ = size_t(of.layers[of.n_layers - 1].units) * size_t(maps.columns());
        residues_.resize(size_ * size_t(of.n));
        for (int64_t r = 0; r < of.n; ++r) {
            maps.follow(row(of, r), of.bytes);
            std::memcpy(residues_.data() + size_t(r) * size_, maps.z(of.n_layers - 1), 4 * size_);
        }
        for (int32_t l = 0; l < of.n_layers; ++l) {
            const double* W = of.layers[l].W;
            const int64_t n = int64_t(of.layers[l].units) * of.layers[l].inputs;
            dense_.push_back(std::none_of(W, W + n, [](double w) { return w == 0; }));
        }
    }

    const uint32_t* residues(int64_t r) const { return residues_.data() + size_t(r) * size_; }

    uint64_t hash(int64_t r) const {
        uint64_t found = 0;
        for (size_t i = 0; i < size_; ++i) found = mixed(found + residues(r)[i] + 0x9e3779b97f4a7c15u);
        return found;
    }

    bool equal(int64_t i, int64_t j) {
        if (std::memcmp(residues(i), residues(j), 4 * size_) != 0) return false;
        if (effective(i) == effective(j)) return true;
        return exact(i) == exact(j);
    }

private:
    // On which piece each unit is, 255 for one with no path to the output that is not 0.
    std::vector<uint8_t> effective(int64_t r) const {
        std::vector<uint8_t> found;
        std::vector<bool> above(size_t(of_.layers[of_.n_layers - 1].units), true);
        int64_t first = 0;
        for (int32_t l = 0; l + 1 < of_.n_layers; ++l) first += of_.layers[l].switches();
        for (int32_t l = of_.n_layers - 2; l >= 0; --l) {
            const RegionLayer &layer = of_.layers[l], &next = of_.layers[l + 1];
            const int kinks = layer.n_kinks;
            first -= layer.switches();
            const bool any = std::find(above.begin(), above.end(), true) != above.end();
            std::vector<bool> reach(size_t(layer.units), any);
            for (int64_t j = 0; j < layer.units; ++j) {
                for (int64_t i = 0; any && !dense_[size_t(l) + 1]; ++i) {
                    if (i == next.units) reach[size_t(j)] = false;
                    if (i == next.units || (above[size_t(i)] && next.W[i * layer.units + j] != 0)) break;
                }
                int piece = 0;
                for (int k = 0; k < kinks; ++k) piece += bit_of(row(of_, r), first + j * kinks + k);
                found.push_back(reach[size_t(j)] ? uint8_t(piece) : 255);
                if (layer.slope[piece] == 0) reach[size_t(j)] = false;
            }
            above = std::move(reach);
        }
        return found;
    }

    const std::vector<Dyadic>& exact(int64_t r) {
        auto& known = known_[r];
        if (known.empty()) {
            if (!rows_) rows_ = std::make_unique<ExactRows>(of_);
            rows_->follow(r);
            known = rows_->output();
        }
        return known;
    }

    const FoundRegions& of_;
    size_t size_;
    std::vector<uint32_t> residues_;
    std::vector<bool> dense_;  // whether a layer's weights have no 0
    std::map<int64_t, std::vector<Dyadic>> known_;
    std::unique_ptr<ExactRows> rows_;
};

int32_t root(std::vector<int32_t>& parent, int32_t i) {
    while (parent[size_t(i)] != i) i = parent[size_t(i)] = parent[size_t(parent[size_t(i)])];
    return i;
}

// The same classes, numbered in the order in which they first appear; how many.
int32_t renumber(std::vector<int32_t>& labels) {
    std::vector<int32_t> number(labels.size(), -1);
    int32_t n = 0;
    for (int32_t& label : labels) {
        int32_t& to = number[size_t(label)];
        if (to < 0) to = n++;
        label = to;
    }
    return n;
}

}  // namespace

MergedRegions merge_regions(const FoundRegions& of, const Pairs& pairs) {
    MergedRegions found;
    const std::vector<int32_t> owner = owner_of_facets(of);
    Equality maps(of);
    found.linear_region.resize(size_t(of.n));
    std::iota(found.linear_region.begin(), found.linear_region.end(), 0);
    auto& parent = found.linear_region;
    for (const auto& [a, b] : pairs) {
        const int32_t i = root(parent, owner[size_t(a)]), j = root(parent, owner[size_t(b)]);
        if (i != j && maps.equal(owner[size_t(a)], owner[size_t(b)])) parent[size_t(std::max(i, j))] = std::min(i, j);
    }
    for (int32_t r = 0; r < int32_t(of.n); ++r) parent[size_t(r)] = root(parent, r);
    // Roots are the first regions of theirs; each stands for its linear region.
    std::vector<int32_t> map_of(size_t(of.n), -1);
    std::unordered_map<uint64_t, std::vector<int32_t>> kinds;  // different maps by their residues' hash
    for (int32_t r = 0; r < int32_t(of.n); ++r) {
        if (parent[size_t(r)] != r) continue;
        auto& alike = kinds[maps.hash(r)];
        const auto same = std::find_if(alike.begin(), alike.end(), [&](int32_t i) { return maps.equal(i, r); });
        map_of[size_t(r)] = same == alike.end() ? r : *same;
        if (same == alike.end()) alike.push_back(r);
    }
    for (int32_t r = 0; r < int32_t(of.n); ++r) found.affine_map.push_back(map_of[size_t(parent[size_t(r)])]);
    found.n_linear_regions = renumber(found.linear_region);
    found.n_affine_maps = renumber(found.affine_map);
    return found;
}

}  // namespace pellucid
