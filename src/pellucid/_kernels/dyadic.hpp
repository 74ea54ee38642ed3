// Exact numbers m 2^e with a big integer m: sums and products of float32 and float64 numbers.
//
// The integer's limbs have 64 bits and the exponent is a multiple of 64, so that a sum needs no
// shifts within a limb. Zero limbs at either end are dropped: 1e8 and the smallest subnormal are two
// limbs each, and only their sum is long.
#pragma once

#include <cstdint>
#include <vector>

namespace pellucid {

class Dyadic {
public:
    Dyadic() = default;
    explicit Dyadic(double value);  // finite

    int sign() const { return sign_; }  // -1, 0, +1
    bool is_zero() const { return sign_ == 0; }
    Dyadic negated() const;

    // *this += a b (or -= where `subtract`)
    void add_product(const Dyadic& a, const Dyadic& b, bool subtract = false);
    void add(const Dyadic& a, bool subtract = false);
    friend Dyadic operator*(const Dyadic& a, const Dyadic& b);
    // Equal numbers have equal limbs, since zero limbs are dropped.
    friend bool operator==(const Dyadic& a, const Dyadic& b) = default;

    uint64_t residue() const;    // modulo the prime 2^61 - 1
    double approximate() const;  // for messages and tests; relative error below 2^-50
    double over(const Dyadic& divisor) const;  // the quotient; relative error below 2^-49

private:
    void trim();
    double leading() const;  // of the magnitude, without its exponent 64 (low + limbs)

    std::vector<uint64_t> limbs_;  // magnitude: sum of limbs[i] 2^(64 (low + i))
    int32_t low_ = 0;
    int sign_ = 0;
};

// Sign of the determinant of the k x k matrix with these rows; k at most 16. Expands row after row
// over subsets of columns: 2^k k / 2 products and no division.
Dyadic determinant(const std::vector<const Dyadic*>& rows, int k);
int determinant_sign(const std::vector<const Dyadic*>& rows, int k);

}  // namespace pellucid
