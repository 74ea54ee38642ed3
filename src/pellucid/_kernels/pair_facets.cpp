// pair_facets: every facet is looked up in a hash table by its region's pattern with the facet's
// switch off. A match is compared bit by bit, so that hashes decide nothing.
#include "pair_facets.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace pellucid {

namespace {

// The i-th word's share of a hash (Steele, Lea and Flood 2014, the finalizer of SplitMix).
inline uint64_t mixed(uint64_t word, int64_t i) {
    uint64_t x = word + uint64_t(i + 1) * 0x9E3779B97F4A7C15;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
    x = (x ^ x >> 27) * 0x94D049BB133111EB;
    return x ^ x >> 31;
}

// Row: a signed integer that counts the facets; small ones keep the tables in the cache.
template <class Row>
class Pairing {
public:
    explicit Pairing(const FacetProblem& problem)
        : p_(problem), n_words_((p_.bytes + 7) / 8), words_(size_t(p_.n * n_words_)) {
        for (int64_t i = 0; i < p_.n && p_.bytes > 0; ++i)
            std::memcpy(words_.data() + i * n_words_, p_.patterns + i * p_.bytes, size_t(p_.bytes));
        const int64_t rows = p_.offsets[p_.n];
        partner_.assign(size_t(rows), NONE);
        region_.resize(size_t(rows));
        int64_t room = 16;
        while (room < rows + rows / 4) room *= 2;  // free places, though none find a partner
        table_.assign(size_t(room), NONE);
        marks_.resize(size_t(rows));
    }

    void run() {
        for (int64_t i = 0; i < p_.n; ++i) {
            const uint64_t* pattern = words_.data() + i * n_words_;
            uint64_t whole = 0;
            for (int64_t w = 0; w < n_words_; ++w) whole ^= mixed(pattern[w], w);
            for (int64_t row = p_.offsets[i]; row < p_.offsets[i + 1]; ++row) {
                region_[size_t(row)] = Row(i);
                const int32_t s = p_.facets[row];
                if (s < 0) continue;
                const uint64_t of = pattern[s >> 6], bit = uint64_t(1) << (s & 63);
                look_up(Row(row), whole ^ mixed(of, s >> 6) ^ mixed(of & ~bit, s >> 6) ^
                                      mixed(uint64_t(s), -2));
            }
        }
    }

    FacetPairs found() {
        FacetPairs result;
        result.pairs.reserve(partner_.size());
        result.regions.reserve(partner_.size());
        std::vector<std::pair<int64_t, int64_t>> of_region;
        for (int64_t i = 0; i < p_.n; ++i) {
            of_region.clear();
            for (int64_t row = p_.offsets[i]; row < p_.offsets[i + 1]; ++row) {
                const int64_t other = partner_[size_t(row)];
                if (other == NONE && p_.facets[row] >= 0) result.alone.push_back(row);
                if (other != NONE && region_[size_t(other)] > i) of_region.push_back({other, row});
            }
            std::sort(of_region.begin(), of_region.end());  // rows rise with their regions
            for (const auto& [other, row] : of_region) {
                result.pairs.push_back(row);
                result.pairs.push_back(other);
                result.regions.push_back(i);
                result.regions.push_back(region_[size_t(other)]);
            }
        }
        return result;
    }

private:
    static constexpr Row NONE = -1;

    void look_up(Row row, uint64_t hash) {
        const uint64_t mask = table_.size() - 1;
        const uint32_t mark = marks_[size_t(row)] = uint32_t(hash >> 32);
        uint64_t at = hash & mask;
        for (; table_[at] != NONE; at = (at + 1) & mask) {
            const Row other = table_[at];
            if (marks_[size_t(other)] == mark && partner_[size_t(other)] == NONE &&
                are_one(row, other)) {
                partner_[size_t(row)] = other;
                partner_[size_t(other)] = row;
                return;
            }
        }
        table_[at] = row;
    }

    bool are_one(Row a, Row b) const {
        const int32_t s = p_.facets[a];
        if (s != p_.facets[b]) return false;
        const uint64_t* of_a = words_.data() + region_[size_t(a)] * n_words_;
        const uint64_t* of_b = words_.data() + region_[size_t(b)] * n_words_;
        uint64_t differs = of_a[s >> 6] ^ of_b[s >> 6] ^ uint64_t(1) << (s & 63);
        for (int64_t w = 0; w < n_words_; ++w)
            if (w != s >> 6) differs |= of_a[w] ^ of_b[w];
        return differs == 0;
    }

    const FacetProblem p_;
    const int64_t n_words_;
    std::vector<uint64_t> words_;  // patterns in whole words
    std::vector<Row> partner_, region_, table_;
    std::vector<uint32_t> marks_;
};

template <class Row>
FacetPairs paired(const FacetProblem& problem) {
    Pairing<Row> pairing(problem);
    pairing.run();
    return pairing.found();
}

}  // namespace

FacetPairs pair_facets(const FacetProblem& problem) {
    const bool few = problem.offsets[problem.n] <= INT32_MAX;
    return few ? paired<int32_t>(problem) : paired<int64_t>(problem);
}

}  // namespace pellucid
