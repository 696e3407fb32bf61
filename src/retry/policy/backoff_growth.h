#ifndef RETRYQ_SRC_RETRY_POLICY_BACKOFF_GROWTH_H_
#define RETRYQ_SRC_RETRY_POLICY_BACKOFF_GROWTH_H_

#include <cstdint>

namespace retryq {

// A growth factor, as the number that the user wrote.
struct Fraction {
  std::uint64_t numerator;
  std::uint64_t denominator;
  friend bool operator==(const Fraction&, const Fraction&) = default;
};

// Returns the shortest decimal of at most 15 digits that reads as this double, in lowest terms: 1.1
// is eleven tenths, and not the double's exact value 1.100000000000000088…. If there is no such
// decimal, returns the exact value. Requires 1 <= factor < 10^12.
Fraction FractionOf(double factor);

// Returns min(limit, base · factor^n / unit), rounded up. Requires 1 <= unit <= base < 2^61 and
// limit < 10^12. Exact if the result is whole before rounding. Otherwise it is computed to at least
// 70 bits: a value less than a billionth below a whole number may become the next whole number.
std::uint64_t GrowUp(std::uint64_t base, std::uint64_t unit, double factor, std::uint64_t n,
                     std::uint64_t limit);

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_POLICY_BACKOFF_GROWTH_H_
