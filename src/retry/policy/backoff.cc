#include "retryq/backoff.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/field_errors.h"
#include "retryq/delay_queue_options.h"

namespace retryq {
namespace {

constexpr absl::Duration kMillisecond = absl::Milliseconds(1);
const absl::Duration kAlmostAMillisecond = kMillisecond - absl::Nanoseconds(1) / 4;

absl::Duration EffectiveMax(const BackoffOptions& options) {
  return options.max == kDefaultMaxBackoff ? std::max(options.base, options.max) : options.max;
}

// Checks fields that are valid alone, but exclude each other.
void CheckTogether(const BackoffOptions& options, const std::string& field, FieldErrors& errors) {
  const bool linear = options.growth == Growth::kLinear;
  const bool listed = !options.delays.empty();
  const auto exclude = [&](bool both, const char* one, const char* other, const char* why) {
    errors.Require(!both, field, one, " cannot be combined with ", field, other, ": ", why);
  };
  exclude(linear && listed, ".growth = kLinear", ".delays", "a list does not grow");
  if (options.jitter_kind != JitterKind::kDecorrelated) return;
  constexpr char kKind[] = ".jitter_kind = kDecorrelated";
  constexpr char kWhy[] = "each delay follows from the one before";
  exclude(options.jitter != 0.0, kKind, ".jitter", "it uses no fraction");
  exclude(linear, kKind, ".growth = kLinear", kWhy);
  exclude(listed, kKind, ".delays", kWhy);
  exclude(options.function != nullptr, kKind, ".function", kWhy);
}

std::int64_t MillisRoundedUp(absl::Duration duration) {
  return absl::ToInt64Milliseconds(duration + kAlmostAMillisecond);
}

// Returns base · factor^failures in milliseconds, rounded up; infinite if it is too large.
//
// A factor stands for the decimal number that was written. The double differs from it by up to half
// an ulp, and the nth power of the double by n times as much. Without this tolerance 1 s · 1.1^3
// would be 1332 ms.
double ExponentialMillis(const BackoffOptions& options, std::uint64_t failures) {
  constexpr double kHalfUlp = std::numeric_limits<double>::epsilon() / 2;
  constexpr double kMostTolerance = 1e-12;
  const auto n = static_cast<double>(failures);
  const double tolerance = std::min((n + 4) * kHalfUlp, kMostTolerance);
  const double base = absl::ToDoubleMilliseconds(options.base);
  return std::ceil(base * std::pow(options.factor, n) * (1 - tolerance));
}

absl::Duration LinearDelay(const BackoffOptions& options, std::uint64_t failures) {
  const absl::Duration max = EffectiveMax(options);
  // Divide, because the product could overflow.
  absl::Duration rest;
  const std::int64_t steps = absl::IDivDuration(max, options.base, &rest);
  if (failures >= static_cast<std::uint64_t>(steps)) return max;
  return options.base * (static_cast<std::int64_t>(failures) + 1);
}

}  // namespace

absl::Status Validate(const BackoffOptions& options, const std::string& field) {
  FieldErrors errors;
  const auto check = [&](bool holds, const std::string& name, const std::string& rule,
                         const std::string& value) {
    errors.Require(holds, field, ".", name, " must be ", rule, ", but is ", value);
  };
  const auto check_delay = [&](const std::string& name, absl::Duration delay) {
    check(delay >= kMillisecond && delay <= kMaxQueueLifetime, name, "between 1ms and 3650 days",
          absl::FormatDuration(delay));
  };
  check_delay("base", options.base);
  check(std::isfinite(options.factor) && options.factor >= 1.0, "factor",
        "a finite number of at least 1", absl::StrCat(options.factor));
  check(options.max <= kMaxQueueLifetime, "max", "at most 3650 days",
        absl::FormatDuration(options.max));
  check(options.max > kMaxQueueLifetime || EffectiveMax(options) >= options.base, "max",
        absl::StrCat("at least base (", absl::FormatDuration(options.base), ")"),
        absl::FormatDuration(options.max));
  check(options.jitter >= 0.0 && options.jitter <= 1.0, "jitter", "between 0 and 1",
        absl::StrCat(options.jitter));
  for (std::size_t i = 0; i < options.delays.size(); ++i) {
    check_delay(absl::StrCat("delays[", i, "]"), options.delays[i]);
  }
  CheckTogether(options, field, errors);
  return errors.status();
}

absl::Duration BackoffDelay(const BackoffOptions& options, std::uint64_t failures) {
  if (!options.delays.empty()) {
    const std::size_t last = options.delays.size() - 1;
    return absl::Milliseconds(MillisRoundedUp(
        options.delays[failures < last ? static_cast<std::size_t>(failures) : last]));
  }
  if (options.growth == Growth::kLinear) {
    return absl::Milliseconds(MillisRoundedUp(LinearDelay(options, failures)));
  }
  const std::int64_t max = MillisRoundedUp(EffectiveMax(options));
  const double delay = ExponentialMillis(options, failures);
  return absl::Milliseconds(delay < static_cast<double>(max) ? static_cast<std::int64_t>(delay)
                                                             : max);
}

absl::Duration LongestDelay(const BackoffOptions& options) {
  const bool grows = options.delays.empty() || options.function != nullptr;
  absl::Duration longest = grows ? EffectiveMax(options) : absl::ZeroDuration();
  for (const absl::Duration delay : options.delays) longest = std::max(longest, delay);
  return absl::Milliseconds(MillisRoundedUp(longest));
}

}  // namespace retryq
