#include "retry/delivery/earlier_failures.h"

#include <algorithm>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "retry/delivery/deaths.h"
#include "retry/delivery/headers.h"
#include "retry/delivery/redeliveries.h"
#include "retry/policy/saturating_sum.h"
#include "retryq/amqp/table.h"

namespace retryq {
namespace {

// A replayed message has but its id, and starts anew.
bool IsCopy(amqp::TableView headers) {
  return headers.Find(kRetryQueueHeader).has_value() || headers.Find(kRetryIdHeader).has_value();
}

// Systems of the one kind reject a message into its delay queue, and the work queue's entry counts
// that. Those of the other publish a copy to it, and what counts are the times it has expired
// there. What expires in the work queue itself has not failed.
std::uint64_t CountDeaths(const amqp::Message& message, std::string_view queue) {
  std::uint64_t rejected = 0;
  std::uint64_t delayed = 0;
  for (const Death& death : ReadDeaths(message)) {
    const auto count = static_cast<std::uint64_t>(death.count);
    if (death.queue == queue && death.reason == "rejected")
      rejected = SaturatingSum(rejected, count);
    if (death.queue != queue && death.reason == "expired") delayed = SaturatingSum(delayed, count);
  }
  return std::max(rejected, delayed);
}

// A number, or one written as text, of which none is above kMostCounted.
std::uint64_t CountIn(const amqp::FieldView& field) {
  if (const std::optional<std::int64_t> number = field.AsInt64()) {
    return *number > 0 ? static_cast<std::uint64_t>(*number) : 0;
  }
  const std::optional<std::string_view> text = field.AsString();
  std::uint64_t number = 0;
  if (text && absl::SimpleAtoi(absl::string_view(text->data(), text->size()), &number)) {
    return std::min(number, kMostCounted);
  }
  return 0;
}

}  // namespace

std::uint64_t ReadEarlierFailures(const amqp::Message& message, std::string_view queue,
                                  const RetryOptions& options) {
  if (options.earlier_counts.empty() || !message.properties.headers) return 0;
  const amqp::TableView headers = *message.properties.headers;
  if (IsCopy(headers)) return 0;
  const bool redeliveries_count =
      ReadRedeliveries(message, options.count_redeliveries).broker_counts;
  std::uint64_t failures = 0;
  for (const std::string& name : options.earlier_counts) {
    if (name == kDeathHeader) {
      failures = std::max(failures, CountDeaths(message, queue));
    } else if (name == kDeliveryCountHeader && redeliveries_count) {
      continue;
    } else if (const auto field = headers.Find(name)) {
      failures = std::max(failures, CountIn(*field));
    }
  }
  return failures;
}

}  // namespace retryq
