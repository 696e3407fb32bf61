#ifndef RETRYQ_SRC_RETRY_POLICY_BACKOFF_GROWTH_H_
#define RETRYQ_SRC_RETRY_POLICY_BACKOFF_GROWTH_H_

#include <cstdint>

namespace retryq {

// A factor of growth as the number that a user wrote.
struct Fraction {
  std::uint64_t numerator;
  std::uint64_t denominator;
  friend bool operator==(const Fraction&, const Fraction&) = default;
};

// The shortest decimal of at most 15 digits that reads as this double, in
// lowest terms: 1.1 is eleven tenths, and not the 1.100000000000000088… that the double
// holds. A double that no such decimal reads as stands for itself. 1 <= factor < 10^12.
Fraction FractionOf(double factor);

// min(limit, base · factor^n / unit), rounded up; 1 <= unit <= base < 2^61, limit < 10^12.
// Exact whenever the result is whole before rounding. Else computed to at least 70 bits: what
// lies less than a billionth below a whole number may be taken for the next.
std::uint64_t GrowUp(std::uint64_t base, std::uint64_t unit, double factor, std::uint64_t n,
                     std::uint64_t limit);

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_POLICY_BACKOFF_GROWTH_H_
