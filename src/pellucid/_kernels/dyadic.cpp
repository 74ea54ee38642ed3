#include "dyadic.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace pellucid {

using Wide = unsigned __int128;

Dyadic::Dyadic(double value) {
    if (value == 0) return;
    int exponent;
    const double fraction = std::frexp(std::fabs(value), &exponent);  // in [1/2, 1)
    const uint64_t mantissa = uint64_t(std::ldexp(fraction, 53));
    exponent -= 53;  // |value| = mantissa 2^exponent
    low_ = exponent >= 0 ? exponent / 64 : -((63 - exponent) / 64);
    const int shift = exponent - 64 * low_;
    const Wide shifted = Wide(mantissa) << shift;
    limbs_ = {uint64_t(shifted), uint64_t(shifted >> 64)};
    sign_ = value > 0 ? 1 : -1;
    trim();
}

Dyadic Dyadic::negated() const {
    Dyadic result = *this;
    result.sign_ = -sign_;
    return result;
}

void Dyadic::trim() {
    while (!limbs_.empty() && limbs_.back() == 0) limbs_.pop_back();
    if (limbs_.empty()) {
        low_ = 0, sign_ = 0;
        return;
    }
    size_t zeros = 0;
    while (limbs_[zeros] == 0) ++zeros;
    if (zeros > 0) {
        limbs_.erase(limbs_.begin(), limbs_.begin() + long(zeros));
        low_ += int32_t(zeros);
    }
}

Dyadic operator*(const Dyadic& a, const Dyadic& b) {
    Dyadic result;
    if (a.is_zero() || b.is_zero()) return result;
    const size_t n = a.limbs_.size(), m = b.limbs_.size();
    result.limbs_.assign(n + m, 0);
    for (size_t i = 0; i < n; ++i) {
        uint64_t carry = 0;
        for (size_t j = 0; j < m; ++j) {
            const Wide t = Wide(a.limbs_[i]) * b.limbs_[j] + result.limbs_[i + j] + carry;
            result.limbs_[i + j] = uint64_t(t);
            carry = uint64_t(t >> 64);
        }
        result.limbs_[i + m] = carry;
    }
    result.low_ = a.low_ + b.low_;
    result.sign_ = a.sign_ * b.sign_;
    result.trim();
    return result;
}

void Dyadic::add_product(const Dyadic& a, const Dyadic& b, bool subtract) {
    add(a * b, subtract);
}

void Dyadic::add(const Dyadic& a, bool subtract) {
    if (a.is_zero()) return;
    const int a_sign = subtract ? -a.sign_ : a.sign_;
    if (is_zero()) {
        *this = a;
        sign_ = a_sign;
        return;
    }
    const int32_t low = std::min(low_, a.low_);
    const int32_t high = std::max(low_ + int32_t(limbs_.size()), a.low_ + int32_t(a.limbs_.size()));
    if (low < low_) limbs_.insert(limbs_.begin(), size_t(low_ - low), 0);
    low_ = low;
    limbs_.resize(size_t(high - low) + 1, 0);
    const size_t offset = size_t(a.low_ - low);
    uint64_t carry = 0;
    if (a_sign == sign_) {
        for (size_t i = offset; i < limbs_.size(); ++i) {
            const size_t j = i - offset;
            if (j >= a.limbs_.size() && carry == 0) break;
            const Wide t = Wide(limbs_[i]) + (j < a.limbs_.size() ? a.limbs_[j] : 0) + carry;
            limbs_[i] = uint64_t(t);
            carry = uint64_t(t >> 64);
        }
    } else {
        for (size_t i = offset; i < limbs_.size(); ++i) {
            const size_t j = i - offset;
            if (j >= a.limbs_.size() && carry == 0) break;
            const Wide t = Wide(limbs_[i]) - (j < a.limbs_.size() ? a.limbs_[j] : 0) - carry;
            limbs_[i] = uint64_t(t);
            carry = uint64_t(t >> 64) & 1;
        }
        if (carry != 0) {  // the difference is negative: two's complement gives its magnitude
            uint64_t one = 1;
            for (uint64_t& limb : limbs_) {
                limb = ~limb + one;
                one = one && limb == 0;
            }
            sign_ = -sign_;
        }
    }
    trim();
}

double Dyadic::approximate() const {
    double value = 0;
    for (size_t i = limbs_.size(); i-- > 0 && i + 3 >= limbs_.size();)
        value += std::ldexp(double(limbs_[i]), 64 * (low_ + int32_t(i)));
    return sign_ * value;
}

double Dyadic::leading() const {
    double value = 0;
    for (size_t i = 0; i < 3 && i < limbs_.size(); ++i)
        value += std::ldexp(double(limbs_[limbs_.size() - 1 - i]), -64 * int(i + 1));
    return value;
}

double Dyadic::over(const Dyadic& divisor) const {
    if (is_zero()) return 0;
    const int64_t exponent = 64 * (int64_t(low_) + int64_t(limbs_.size()) - divisor.low_ -
                                   int64_t(divisor.limbs_.size()));
    const int bounded = int(std::max<int64_t>(-5000, std::min<int64_t>(5000, exponent)));
    return sign_ * divisor.sign_ * std::ldexp(leading() / divisor.leading(), bounded);
}

uint64_t Dyadic::residue() const {
    constexpr uint64_t p = (uint64_t(1) << 61) - 1;
    uint64_t value = 0;
    for (size_t i = limbs_.size(); i-- > 0;)
        value = uint64_t(((Wide(value) << 64) + limbs_[i]) % p);
    const int shift = int((int64_t(low_) * 64 % 61 + 61) % 61);  // 2^61 = 1
    value = uint64_t((Wide(value) << shift) % p);
    return sign_ < 0 && value > 0 ? p - value : value;
}

Dyadic determinant(const std::vector<const Dyadic*>& rows, int k) {
    // minors[S]: the determinant of the first |S| rows and the columns in S
    std::vector<Dyadic> minors(size_t(1) << k);
    minors[0] = Dyadic(1.0);
    for (size_t S = 1; S < minors.size(); ++S) {
        const int r = __builtin_popcountll(S) - 1;
        int position = 0;
        for (int j = 0; j < k; ++j) {
            if (!(S >> j & 1)) continue;
            const bool odd = (r + position++) & 1;
            minors[S].add_product(rows[size_t(r)][j], minors[S & ~(size_t(1) << j)], odd);
        }
    }
    return minors.back();
}

int determinant_sign(const std::vector<const Dyadic*>& rows, int k) {
    return determinant(rows, k).sign();
}

}  // namespace pellucid
