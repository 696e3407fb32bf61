#include "retry/delivery/remaining_delay.h"

#include <algorithm>

namespace retryq {

absl::Duration RemainingDelay(const Delivery::History& history, absl::Time now) {
  if (!history.remaining) return absl::ZeroDuration();
  absl::Duration left = *history.remaining;
  if (history.not_before) left = std::min(left, *history.not_before - now);
  return absl::Ceil(std::max(left, absl::ZeroDuration()), absl::Milliseconds(1));
}

}  // namespace retryq
