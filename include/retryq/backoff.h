#ifndef RETRYQ_BACKOFF_H_
#define RETRYQ_BACKOFF_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "retryq/duration.h"
#include "retryq/export.h"

namespace retryq {

inline constexpr absl::Duration kDefaultMaxBackoff = absl::Minutes(10);

// How delays grow from one failure to the next.
enum class Growth {
  kExponential,  // base, base · factor, base · factor², …
  kLinear,       // base, 2 · base, 3 · base, …
};

// How jitter changes a delay d.
enum class JitterKind {
  // Uniform in [(1 - jitter) · d, d].
  kFraction,
  // Uniform between `base` and three times the message's previous delay (for the first delay: three
  // times `base`), at most `max`. Each delay is derived from the previous one, so `growth` is
  // ignored.
  kDecorrelated,
};

// The failure for which a function of your own computes the delay.
struct Failure {
  std::uint64_t failures;  // earlier failures of this message
  const absl::Status& error;
  std::optional<absl::Duration> previous_delay = {};  // before this attempt
  absl::Duration age = {};  // since the first failure of the message; 0 for the first
};

// How long to wait after a failure. The default is exponential backoff: after failure n (the first
// is 0) min(max, base · factor^n). All delays are whole milliseconds, rounded up.
//
//   exponential   {.base = absl::Seconds(1), .factor = 2.0, .max = absl::Minutes(10)}
//   fixed         {.base = absl::Seconds(30), .factor = 1.0}
//   linear        {.base = absl::Seconds(5), .max = absl::Minutes(1), .growth = Growth::kLinear}
//   a list        {.delays = {absl::Seconds(1), absl::Seconds(2), absl::Seconds(5)}}
//   a function    {.function = [](const Failure& failure) { return … }}
struct BackoffOptions {
  // The first delay. At least 1 ms.
  Duration base = absl::Seconds(1);

  // Factor between successive delays (exponential growth). Finite, at least 1; 1 is a fixed delay.
  // Treated as a decimal number: 1.1 is exactly eleven tenths, so that 1 s grows to 1100 ms and not
  // to 1101. The relative error of a delay is below 10^-12.
  double factor = 2.0;

  // The longest delay. At least `base`, at most ten years. If it is left at its default and `base`
  // is longer, it becomes `base`.
  Duration max = kDefaultMaxBackoff;

  // The random fraction of a delay, 0 to 1. 0: delays are not random; 1 ("full jitter"): any time
  // up to the delay. The result is at least 1 ms.
  double jitter = 0.0;

  // kDecorrelated cannot be combined with a fraction of `jitter`, `delays`, `function` or linear
  // growth.
  JitterKind jitter_kind = JitterKind::kFraction;

  Growth growth = Growth::kExponential;

  // A list of delays that replaces all growth, each from 1 ms to ten years; base, factor and max
  // are then ignored. The last delay repeats: `max_attempts` ends retrying, not the list. To use
  // each delay once, set it to the number of delays plus one.
  std::vector<Duration> delays = {};

  // Computes the delay, which is then limited to the range from 1 ms to `max`. Called on the loop's
  // thread. If it throws, or returns a delay that is infinite or not above zero, the delay from the
  // other fields is used.
  std::function<Duration(const Failure&)> function = nullptr;
};

// kInvalidArgument names every invalid field, separated by "; "; ok otherwise. `field` is put
// before the names, e.g. "retry.backoff".
RETRYQ_EXPORT absl::Status Validate(const BackoffOptions& options,
                                    const std::string& field = "backoff");

// The delay after `failures` earlier failures, by growth or list, without jitter and `function`:
// exact, in whole milliseconds, without overflow for any number. With growth it never exceeds `max`
// (rounded up to whole milliseconds) and never decreases. Takes some tens of nanoseconds. Needs
// valid options. Thread-safe.
RETRYQ_EXPORT absl::Duration BackoffDelay(const BackoffOptions& options, std::uint64_t failures);

// The range of a random delay, both ends included.
struct DelayRange {
  absl::Duration shortest;
  absl::Duration longest;
};

// The range of delays that may follow `failures` earlier failures, with jitter and without
// `function`, in whole milliseconds. If each delay is derived from the previous one, the range
// follows the longest possible previous delay. Needs valid options. Thread-safe.
RETRYQ_EXPORT DelayRange BackoffRange(const BackoffOptions& options, std::uint64_t failures);

// The longest delay that these options can give. Needs valid options. Thread-safe.
RETRYQ_EXPORT absl::Duration LongestDelay(const BackoffOptions& options);

}  // namespace retryq

#endif  // RETRYQ_BACKOFF_H_
