#include "retry/policy/backoff_growth.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <optional>

#include "absl/numeric/int128.h"

namespace retryq {
namespace {

using absl::uint128;
using absl::Uint128High64;
using absl::Uint128Low64;

// Returns nullopt if the product needs more than 128 bits.
std::optional<uint128> Times(uint128 value, std::uint64_t by) {
  const uint128 low = uint128(Uint128Low64(value)) * by;
  const uint128 high = uint128(Uint128High64(value)) * by + Uint128High64(low);
  if (Uint128High64(high) != 0) return std::nullopt;
  return (high << 64) | Uint128Low64(low);
}

// A positive number mantissa · 2^exponent, with 2^127 <= mantissa < 2^128. It is never below the
// exact value, because every operation rounds up.
struct UpperBound {
  uint128 mantissa;
  int exponent;
};

UpperBound UpperBoundOf(Fraction fraction) {
  const uint128 divisor = fraction.denominator;
  const std::uint64_t whole = fraction.numerator / fraction.denominator;
  const uint128 first = uint128(fraction.numerator % fraction.denominator) << 64;
  const uint128 second = (first % divisor) << 64;
  const uint128 behind_point = ((first / divisor) << 64) + second / divisor;
  const int width = static_cast<int>(std::bit_width(whole));
  const uint128 mantissa = (uint128(whole) << (128 - width)) + (behind_point >> width) + 1;
  return {mantissa, width - 128};
}

UpperBound operator*(UpperBound a, UpperBound b) {
  const uint128 a_high = Uint128High64(a.mantissa);
  const uint128 a_low = Uint128Low64(a.mantissa);
  const uint128 b_high = Uint128High64(b.mantissa);
  const uint128 b_low = Uint128Low64(b.mantissa);
  const uint128 cross = a_high * b_low;
  const uint128 other_cross = a_low * b_high;
  const uint128 carry =
      uint128(Uint128High64(a_low * b_low)) + Uint128Low64(cross) + Uint128Low64(other_cross);
  const uint128 high = a_high * b_high + Uint128High64(cross) + Uint128High64(other_cross) +
                       Uint128High64(carry) + 1;
  const bool normal = (high >> 127) != 0;
  return {normal ? high : high << 1, a.exponent + b.exponent + (normal ? 128 : 127)};
}

// Returns base · factor^n, rounded up to a whole number. The result must be below 2^63, n above 0.
std::uint64_t GrowWithRoundingUp(std::uint64_t base, Fraction factor, std::uint64_t n) {
  UpperBound result = UpperBoundOf({base, 1});
  for (UpperBound square = UpperBoundOf(factor);; square = square * square) {
    if ((n & 1) != 0) result = result * square;
    n >>= 1;
    if (n == 0) break;
  }
  const uint128 whole = result.mantissa >> -result.exponent;
  const bool more = (whole << -result.exponent) != result.mantissa;
  return Uint128Low64(whole) + (more ? 1 : 0);
}

constexpr std::uint64_t RoundUpDivision(std::uint64_t number, std::uint64_t unit) {
  return (number + unit - 1) / unit;
}

}  // namespace

Fraction FractionOf(double factor) {
  std::uint64_t power_of_ten = 1;
  // NOLINTNEXTLINE(clang-analyzer-security.FloatLoopCounter): it grows tenfold, and ends
  for (double scaled = factor; scaled < 1e15; scaled = factor * static_cast<double>(power_of_ten)) {
    // NOLINTNEXTLINE(bugprone-incorrect-roundings): it is above zero and below 1e15
    const auto digits = static_cast<std::uint64_t>(scaled + 0.5);
    // The division rounds once, like the conversion of the decimal to a double.
    if (static_cast<double>(digits) / static_cast<double>(power_of_ten) == factor) {
      const std::uint64_t common = std::gcd(digits, power_of_ten);
      return {digits / common, power_of_ten / common};
    }
    power_of_ten *= 10;
  }
  constexpr int kDigits = 53;
  int exponent = 0;
  const auto mantissa =
      static_cast<std::uint64_t>(std::ldexp(std::frexp(factor, &exponent), kDigits));
  const int common = std::min(std::countr_zero(mantissa), kDigits - exponent);
  return {mantissa >> common, std::uint64_t{1} << (kDigits - exponent - common)};
}

std::uint64_t GrowUp(std::uint64_t base, std::uint64_t unit, double factor, std::uint64_t n,
                     std::uint64_t limit) {
  if (n == 0 || factor == 1.0) return std::min(limit, RoundUpDivision(base, unit));

  // Far above the limit, the exact value does not matter; below, all sizes are bounded.
  const double estimate = static_cast<double>(base) / static_cast<double>(unit) *
                          std::pow(factor, static_cast<double>(n));
  if (estimate > 1.01 * static_cast<double>(limit)) return limit;

  // A result that is whole before rounding fits here: its denominator^n divides base < 2^61.
  const Fraction fraction = FractionOf(factor);
  uint128 numerator = base;
  uint128 denominator = unit;
  for (std::uint64_t i = 0; i < n; ++i) {
    const std::optional<uint128> grown = Times(numerator, fraction.numerator);
    if (!grown.has_value()) {
      return std::min(limit, RoundUpDivision(GrowWithRoundingUp(base, fraction, n), unit));
    }
    numerator = *grown;
    denominator *= fraction.denominator;  // never above the numerator
  }
  const uint128 whole = numerator / denominator;
  const bool more = whole * denominator != numerator;
  return std::min(limit, Uint128Low64(whole) + (more ? 1 : 0));
}

}  // namespace retryq
