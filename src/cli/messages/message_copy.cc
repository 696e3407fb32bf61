#include "cli/messages/message_copy.h"

#include <cstdint>
#include <random>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "cli/messages/message_past.h"
#include "retryq/amqp/table.h"

namespace retryq::cli {
namespace {

// 128 random bits in hex, as in the ids of the library.
std::string NewId() {
  std::random_device random;
  std::string id;
  for (int i = 0; i < 4; ++i) {
    absl::StrAppend(&id, absl::Hex(static_cast<std::uint32_t>(random()), absl::kZeroPad8));
  }
  return id;
}

// A message that was published with a delay has no retry headers yet, so it gets new ones, as from
// a worker.
CopyPath PathOf(const amqp::Message& message, const CopyPlan& plan) {
  const bool is_new = plan.parked != absl::InfinitePast() && !MessagePast(message).queue;
  return is_new ? CopyPath::kRetry : plan.path;
}

}  // namespace

MessageCopy::MessageCopy(const amqp::Message& message, const CopyPlan& plan)
    : properties_(CopyProperties(message.properties, PathOf(message, plan), &headers_)) {
  amqp::TableWriter writer(&headers_);
  if (plan.edited != absl::InfinitePast()) {
    writer.SetInt64("x-retry-edited", absl::ToUnixMillis(plan.edited));
  }
  if (plan.parked != absl::InfinitePast()) AddWhatParkingSets(message, plan);
  if (message.properties.headers || !headers_.empty()) {
    properties_.headers = amqp::TableView(headers_);
  }
}

// A message without retry headers was published to the work queue through the default exchange.
void MessageCopy::AddWhatParkingSets(const amqp::Message& message, const CopyPlan& plan) {
  amqp::TableWriter writer(&headers_);
  writer.SetInt64("x-retry-parked", absl::ToUnixMillis(plan.parked));
  const MessagePast past(message);
  if (past.queue) return;
  writer.SetInt64("x-retry-count", 0);
  writer.SetString("x-retry-queue", plan.work_queue);
  writer.SetString("x-retry-exchange", "");
  writer.SetString("x-retry-routing-key", plan.work_queue);
  const auto& id = past.retry_id ? past.retry_id : message.properties.message_id;
  writer.SetString("x-retry-id", id && !id->empty() ? std::string(*id) : NewId());
}

}  // namespace retryq::cli
