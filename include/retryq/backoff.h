#ifndef RETRYQ_BACKOFF_H_
#define RETRYQ_BACKOFF_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "retryq/export.h"

namespace retryq {

inline constexpr absl::Duration kDefaultMaxBackoff = absl::Minutes(10);

// How delays grow from one failure to the next.
enum class Growth {
  kExponential,  // base, base · factor, base · factor², …
  kLinear,       // base, base + step, base + 2 · step, …
};

// What chance does to a delay d.
enum class JitterKind {
  // Uniform in [(1 - jitter) · d, d].
  kFraction,
  // Uniform between `base` and three times the message's previous delay (the base, for the first),
  // at most `max`. Each delay follows from the one before, so `growth` is ignored.
  kDecorrelated,
};

// What a function of your own knows of the failure that it finds a delay for.
struct Failure {
  std::uint64_t failures;  // of this message before this one
  const absl::Status& error;
  std::optional<absl::Duration> previous_delay;  // what it waited before this attempt
  absl::Duration age;                            // since its first failure; 0 for the first
};

// How long to wait after a failure. By default exponential backoff: after failure n (the first is
// 0) min(max, base · factor^n). All delays are whole milliseconds, rounded up.
//
//   exponential   {.base = absl::Seconds(1), .factor = 2.0, .max = absl::Minutes(10)}
//   fixed         {.base = absl::Seconds(30), .factor = 1.0}
//   linear        {.base = absl::Seconds(5), .max = absl::Minutes(1), .growth = Growth::kLinear}
//   a list        {.delays = {absl::Seconds(1), absl::Seconds(2), absl::Seconds(5)}}
//   a function    {.function = [](const Failure& failure) { return … }}
struct BackoffOptions {
  // The first delay. At least 1 ms.
  absl::Duration base = absl::Seconds(1);

  // Exponential growth from one delay to the next. Finite, at least 1; 1 is a fixed delay.
  // Taken for the decimal it is written as (up to 15 digits): 1.1 is eleven tenths, so
  // that 1 s grows to 1100 ms and not to 1101.
  double factor = 2.0;

  // The longest delay. At least `base`, at most ten years. Left at its default it grows to
  // `base` where that is longer.
  absl::Duration max = kDefaultMaxBackoff;

  // Fraction of a delay left to chance, 0 to 1: 0 is none, 1 ("full jitter") anything up to the
  // delay. At least 1 ms is left of it.
  double jitter = 0.0;

  // kDecorrelated goes with neither a fraction of `jitter` nor `delays`, `function` or linear
  // growth.
  JitterKind jitter_kind = JitterKind::kFraction;

  Growth growth = Growth::kExponential;

  // Linear growth from one delay to the next, not negative. 0: as much as `base`.
  absl::Duration step = absl::ZeroDuration();

  // The delays one by one, in place of all growth, each from 1 ms to ten years; base, factor and
  // max are then ignored. The last one repeats: what ends retrying is `max_attempts`, one
  // more than there are delays where each is to be used once.
  std::vector<absl::Duration> delays = {};

  // Finds the delay, which is then held between 1 ms and `max`. Called on the loop's thread. Where
  // it throws, or returns what is not above zero or infinite, the delay that the other fields give
  // stands in.
  std::function<absl::Duration(const Failure&)> function = nullptr;
};

// kInvalidArgument naming every wrong field, separated by "; "; ok otherwise.
// `field` is put before the names, e.g. "retry.backoff".
RETRYQ_EXPORT absl::Status Validate(const BackoffOptions& options,
                                    const std::string& field = "backoff");

// The delay after `failures` earlier failures by growth or list, without jitter and `function`:
// exact, whole milliseconds, no overflow for any number. Growth is never above `max` (rounded up to
// whole milliseconds), and never falls. Takes some tens of nanoseconds. Needs valid options.
// Thread-safe.
RETRYQ_EXPORT absl::Duration BackoffDelay(const BackoffOptions& options, std::uint64_t failures);

// What chance leaves of a delay, both ends included.
struct DelayRange {
  absl::Duration shortest;
  absl::Duration longest;
};

// The delays that may follow `failures` earlier failures, jitter included and `function` not:
// whole milliseconds. Where each delay follows from the one before, from the longest one before.
// Needs valid options. Thread-safe.
RETRYQ_EXPORT DelayRange BackoffRange(const BackoffOptions& options, std::uint64_t failures);

// The longest delay that these options can give. Needs valid options. Thread-safe.
RETRYQ_EXPORT absl::Duration LongestDelay(const BackoffOptions& options);

}  // namespace retryq

#endif  // RETRYQ_BACKOFF_H_
