#include "cli/messages/message_copy.h"

#include <array>
#include <cstdint>
#include <random>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "cli/messages/message_past.h"
#include "retryq/amqp/table.h"
#include "retryq/delivery.h"

namespace retryq::cli {
namespace {

using Purpose = CopyPlan::Purpose;

// What the broker replaces when it is published by a channel that consumes it, and else refuses.
constexpr std::string_view kUnnamedReplyTo = "amq.rabbitmq.reply-to";

constexpr std::string_view kIdHeader = "x-retry-id";
constexpr std::string_view kEditedHeader = "x-retry-edited";
constexpr std::string_view kParkedHeader = "x-retry-parked";

bool StaysInMove(std::string_view name) {
  return name != "CC" && name != "BCC" && name != "x-delivery-count" && name != "x-acquired-count";
}

bool StaysInReplay(std::string_view name) {
  return StaysInMove(name) &&
         (name == kIdHeader || name == kEditedHeader || !Headers::IsHidden(name));
}

// Without the delay: what has not waited for it must look neither early nor in need of the rest.
bool StaysInRetry(std::string_view name) {
  if (name == "x-retry-not-before" || name == "x-retry-delay" || name == "x-retry-remaining" ||
      name == kParkedHeader) {
    return false;
  }
  return StaysInMove(name) && (name.starts_with("x-retry-") || !Headers::IsHidden(name));
}

bool Stays(std::string_view name, Purpose purpose) {
  switch (purpose) {
    case Purpose::kReplay:
      return StaysInReplay(name);
    case Purpose::kEdit:
      return StaysInReplay(name) && name != kEditedHeader;
    case Purpose::kMove:
      return StaysInMove(name);
    case Purpose::kRelease:
    case Purpose::kPark:
      return StaysInRetry(name);
  }
  return true;
}

// 128 random bits in hex, as the library makes them.
std::string NewId() {
  std::random_device random;
  std::string id;
  for (int i = 0; i < 4; ++i) {
    absl::StrAppend(&id, absl::Hex(static_cast<std::uint32_t>(random()), absl::kZeroPad8));
  }
  return id;
}

}  // namespace

MessageCopy::MessageCopy(const amqp::Message& message, const CopyPlan& plan)
    : properties_(message.properties) {
  properties_.delivery_mode = 2;
  properties_.user_id.reset();
  if (properties_.reply_to == kUnnamedReplyTo) properties_.reply_to.reset();
  if (plan.purpose != Purpose::kMove) properties_.expiration.reset();
  amqp::TableWriter writer(&headers_);
  for (const amqp::FieldView& field : message.properties.headers.value_or(amqp::TableView())) {
    if (Stays(field.name, plan.purpose)) writer.Copy(field);
  }
  if (plan.purpose == Purpose::kEdit) writer.SetInt64(kEditedHeader, absl::ToUnixMillis(plan.at));
  if (plan.purpose == Purpose::kPark) AddWhatParkingSets(message, plan);
  if (message.properties.headers || !headers_.empty()) {
    properties_.headers = amqp::TableView(headers_);
  }
}

// A message that was published with a delay has none of these yet: it was meant for the work queue,
// through the default exchange.
void MessageCopy::AddWhatParkingSets(const amqp::Message& message, const CopyPlan& plan) {
  amqp::TableWriter writer(&headers_);
  writer.SetInt64(kParkedHeader, absl::ToUnixMillis(plan.at));
  const MessagePast past(message);
  if (!past.attempts) writer.SetInt64("x-retry-count", 0);
  if (!past.queue) {
    writer.SetString("x-retry-queue", plan.work_queue);
    writer.SetString("x-retry-exchange", "");
    writer.SetString("x-retry-routing-key", plan.work_queue);
  }
  if (!amqp::TableView(headers_).Find(kIdHeader)) {
    const auto& own = message.properties.message_id;
    writer.SetString(kIdHeader, own && !own->empty() ? *own : NewId());
  }
}

}  // namespace retryq::cli
