#include "retry/policy/next_delay.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "absl/numeric/int128.h"

namespace retryq {
namespace {

constexpr absl::Duration kShortest = absl::Milliseconds(1);

// Number of delays in FixedDelays. Messages that fail more often usually wait so long that
// computing the delay costs little.
constexpr std::size_t kMostDelays = 64;

// Returns a uniformly random delay in [from, to], both in whole milliseconds.
absl::Duration Between(absl::Duration from, absl::Duration to, Random& random) {
  const std::int64_t first = absl::ToInt64Milliseconds(from);
  const auto choices = static_cast<std::uint64_t>(absl::ToInt64Milliseconds(to) - first + 1);
  // Uses the high half of the product instead of a remainder, which would cost a division.
  const auto chosen = absl::Uint128High64(absl::uint128(random.Next()) * choices);
  return absl::Milliseconds(first + static_cast<std::int64_t>(chosen));
}

absl::Duration Decorrelated(const BackoffOptions& options, const Failure& failure, Random& random) {
  const absl::Duration base = absl::Ceil(options.base, kShortest);
  const absl::Duration longest = LongestDelay(options);
  // A caller with a schedule of its own may pass any previous delay.
  const absl::Duration previous = std::clamp(failure.previous_delay.value_or(base), base, longest);
  return Between(base, std::min(3 * previous, longest), random);
}

absl::Duration Unjittered(const BackoffOptions& options, const Failure& failure) {
  if (options.function != nullptr) {
    absl::Duration asked;
    try {
      asked = options.function(failure);
    } catch (...) {
      asked = absl::ZeroDuration();
    }
    if (asked > absl::ZeroDuration() && asked != absl::InfiniteDuration()) {
      const absl::Duration whole = absl::Ceil(std::min(asked, LongestDelay(options)), kShortest);
      return std::max(whole, kShortest);
    }
  }
  return BackoffDelay(options, failure.failures);
}

}  // namespace

absl::Duration NextDelay(const BackoffOptions& options, const Failure& failure, Random& random) {
  if (options.jitter_kind == JitterKind::kDecorrelated) {
    return Decorrelated(options, failure, random);
  }
  const absl::Duration delay = Unjittered(options, failure);
  if (options.jitter == 0.0) return delay;
  return Between(ShortestJittered(options, delay), delay, random);
}

DelayRange BackoffRange(const BackoffOptions& options, std::uint64_t failures) {
  if (options.jitter_kind != JitterKind::kDecorrelated) {
    const absl::Duration longest = BackoffDelay(options, failures);
    return {.shortest = ShortestJittered(options, longest), .longest = longest};
  }
  const DelayRange all = {.shortest = absl::Ceil(options.base, kShortest),
                          .longest = LongestDelay(options)};
  absl::Duration longest = all.shortest;
  for (std::uint64_t i = 0; i <= failures && longest < all.longest; ++i) longest *= 3;
  return {.shortest = all.shortest, .longest = std::min(longest, all.longest)};
}

bool IsForeseeable(const BackoffOptions& options) {
  return options.function == nullptr && options.jitter_kind != JitterKind::kDecorrelated;
}

absl::Duration ShortestJittered(const BackoffOptions& options, absl::Duration delay) {
  const double least = std::ceil((1.0 - options.jitter) * absl::ToDoubleMilliseconds(delay));
  return std::clamp(absl::Milliseconds(static_cast<std::int64_t>(least)), kShortest, delay);
}

FixedDelays::FixedDelays(const BackoffOptions& options) {
  if (!IsForeseeable(options) || options.jitter != 0.0) return;
  const absl::Duration last = BackoffDelay(options, std::numeric_limits<std::uint64_t>::max());
  while (delays_.size() < kMostDelays) {
    delays_.push_back(BackoffDelay(options, delays_.size()));
    // Growth stays at its last value once it is reached, but a list may also contain that value in
    // its middle.
    if (delays_.back() == last && delays_.size() >= options.delays.size()) {
      last_ = last;
      return;
    }
  }
}

}  // namespace retryq
