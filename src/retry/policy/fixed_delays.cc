#include "retry/policy/fixed_delays.h"

#include <limits>

#include "retry/policy/next_delay.h"

namespace retryq {
namespace {

// Messages that fail more often wait for long, most of them.
constexpr std::size_t kMostDelays = 64;

}  // namespace

FixedDelays::FixedDelays(const BackoffOptions& options) {
  if (!IsForeseeable(options) || options.jitter != 0.0) return;
  const absl::Duration last = BackoffDelay(options, std::numeric_limits<std::uint64_t>::max());
  while (delays_.size() < kMostDelays) {
    delays_.push_back(BackoffDelay(options, delays_.size()));
    // Growth stays where it has come to; a list may have the same in its middle.
    if (delays_.back() == last && delays_.size() >= options.delays.size()) {
      last_ = last;
      return;
    }
  }
}

}  // namespace retryq
