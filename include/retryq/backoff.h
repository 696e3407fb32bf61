#ifndef RETRYQ_BACKOFF_H_
#define RETRYQ_BACKOFF_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace retryq {

inline constexpr absl::Duration kDefaultMaxBackoff = absl::Minutes(10);

// Exponential backoff: the delay after failure n (the first is 0) is
// min(max, base · factor^n), in whole milliseconds, rounded up.
struct BackoffOptions {
  // The first delay. At least 1 ms.
  absl::Duration base = absl::Seconds(1);

  // Growth from one delay to the next. Finite, at least 1; 1 is a fixed delay.
  // Taken for the decimal it is written as (up to 15 digits): 1.1 is eleven tenths, so
  // that 1 s grows to 1100 ms and not to 1101.
  double factor = 2.0;

  // The longest delay. At least `base`, at most ten years. Left at its default it grows to
  // `base` where that is longer.
  absl::Duration max = kDefaultMaxBackoff;

  // Fraction of a delay left to chance: uniform in [(1 - jitter) · d, d]. 0 to 1.
  // Anything but 0 is refused for now: random delays need the grid of any delay.
  double jitter = 0.0;
};

// kInvalidArgument naming every wrong field, separated by "; "; ok otherwise.
// `field` is put before the names, e.g. "retry.backoff".
absl::Status Validate(const BackoffOptions& options, const std::string& field = "backoff");

// The delay after `failures` earlier failures: exact, whole milliseconds, no overflow for any
// number; never above `max` (rounded up to whole milliseconds), never falling. Takes some tens of
// nanoseconds. Needs valid options. Thread-safe.
absl::Duration BackoffDelay(const BackoffOptions& options, std::uint64_t failures);

// The next of 1, 2, 3, 4, 6, 8, 12, 16, … milliseconds that is not below `delay` (1 ms for
// whatever is less): at most two queues an octave for delays that somebody else
// chooses (RetryAfter, delayed publishing), at the price of up to half more delay.
// Infinity for delays above 2^60 ms.
absl::Duration RoundUpToGrid(absl::Duration delay);

}  // namespace retryq

#endif  // RETRYQ_BACKOFF_H_
