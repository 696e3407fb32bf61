#include "cli/parked/parked_copy.h"

#include <string_view>

#include "retryq/amqp/table.h"
#include "retryq/delivery.h"

namespace retryq::cli {
namespace {

// What the broker replaces when it is published by a channel that consumes it, and else refuses.
constexpr std::string_view kUnnamedReplyTo = "amq.rabbitmq.reply-to";

bool StaysInMove(std::string_view name) {
  return name != "CC" && name != "BCC" && name != "x-delivery-count" && name != "x-acquired-count";
}

bool StaysInReplay(std::string_view name) {
  return StaysInMove(name) && (name == "x-retry-id" || !Headers::IsHidden(name));
}

}  // namespace

ParkedCopy::ParkedCopy(const amqp::Message& message, Purpose purpose)
    : properties_(message.properties) {
  const bool is_replay = purpose == Purpose::kReplay;
  properties_.delivery_mode = 2;
  properties_.user_id.reset();
  if (properties_.reply_to == kUnnamedReplyTo) properties_.reply_to.reset();
  if (is_replay) properties_.expiration.reset();
  if (!properties_.headers) return;
  amqp::TableWriter writer(&headers_);
  for (const amqp::FieldView& field : *message.properties.headers) {
    if (is_replay ? StaysInReplay(field.name) : StaysInMove(field.name)) writer.Copy(field);
  }
  properties_.headers = amqp::TableView(headers_);
}

}  // namespace retryq::cli
