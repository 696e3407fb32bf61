#include "retry/redeliveries.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "retry/headers.h"

namespace retryq {

// The count of a message that is not redelivered came with it: see IsNearDeliveryLimit.
Redeliveries ReadRedeliveries(const amqp::Message& message, CountRedeliveries which) {
  if (which == CountRedeliveries::kNever || !message.redelivered) return {};
  if (message.properties.headers) {
    const std::optional<std::int64_t> count =
        message.properties.headers->FindInt64(kDeliveryCountHeader);
    if (count > 0) {
      return {.count = static_cast<std::uint64_t>(*count), .broker_counts = true};
    }
  }
  if (which == CountRedeliveries::kAlways) return {.count = 1, .broker_counts = false};
  return {};
}

absl::Status WhyUnsettled(const Redeliveries& redeliveries) {
  return absl::AbortedError(absl::StrCat(
      "the worker that had it died or lost its connection",
      redeliveries.count == 1 ? "" : absl::StrCat(", ", redeliveries.count, " times")));
}

}  // namespace retryq
