#include "retry/delivery/redeliveries.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "retry/delivery/headers.h"

namespace retryq {
namespace {

std::optional<std::int64_t> FindCount(const amqp::Message& message, std::string_view header) {
  if (!message.properties.headers) return std::nullopt;
  return message.properties.headers->FindInt64(header);
}

}  // namespace

// The count of a message that is not redelivered came with it: see IsNearDeliveryLimit.
Redeliveries ReadRedeliveries(const amqp::Message& message, CountRedeliveries which) {
  if (which == CountRedeliveries::kNever || !message.redelivered) return {};
  const std::optional<std::int64_t> count = FindCount(message, kDeliveryCountHeader);
  if (count > 0) return {.count = static_cast<std::uint64_t>(*count), .broker_counts = true};
  // 4.3: it was given back, and that is all.
  if (FindCount(message, kAcquiredCountHeader) > 0) return {};
  if (which == CountRedeliveries::kAlways) return {.count = 1, .broker_counts = false};
  return {};
}

std::int64_t CountUncounted(const amqp::Message& message) {
  return std::max<std::int64_t>(0, FindCount(message, kAcquiredCountHeader).value_or(0)) -
         std::max<std::int64_t>(0, FindCount(message, kDeliveryCountHeader).value_or(0));
}

absl::Status WhyUnsettled(const Redeliveries& redeliveries) {
  const char* const why = redeliveries.timed_out == 0
                              ? "the worker that had it died or lost its connection"
                          : redeliveries.timed_out < redeliveries.count
                              ? "the workers that had it died, lost their connections, or exceeded "
                                "the broker's consumer timeout"
                              : "the worker that had it exceeded the broker's consumer timeout";
  return absl::AbortedError(absl::StrCat(
      why, redeliveries.count == 1 ? "" : absl::StrCat(", ", redeliveries.count, " times")));
}

bool CountsFailuresOnly(std::string_view version) {
  const std::string text(version);
  char* rest = nullptr;
  const long major = std::strtol(text.c_str(), &rest, 10);  // NOLINT(google-runtime-int)
  const long minor =
      *rest == '.' ? std::strtol(rest + 1, nullptr, 10) : 0;  // NOLINT(google-runtime-int)
  return major > 4 || (major == 4 && minor >= 3);
}

void CountedReturns::Learn(const amqp::Message& message) {
  if (!message.redelivered) return;
  if (FindCount(message, kAcquiredCountHeader) > 0) {
    seen_ = Seen::kAcquiredCount;
  } else if (!FindCount(message, kDeliveryCountHeader)) {
    seen_ = Seen::kNoCount;
  } else {
    seen_ = Seen::kNothing;
  }
}

bool CountedReturns::WouldCount(std::string_view version) const {
  switch (which_) {
    case CountRedeliveries::kNever:
      return false;
    case CountRedeliveries::kAlways:
      return seen_ != Seen::kAcquiredCount;
    case CountRedeliveries::kWhereCounted:
      return seen_ == Seen::kNothing && !version.empty() && !CountsFailuresOnly(version);
  }
  return false;
}

}  // namespace retryq
