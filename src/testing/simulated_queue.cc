#include "testing/simulated_queue.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <variant>

namespace retryq::testing {
namespace {

std::optional<std::int64_t> Number(const amqp::Table& arguments, std::string_view name) {
  const amqp::Value* value = arguments.Find(name);
  if (value == nullptr) return std::nullopt;
  if (const auto* wide = std::get_if<std::int64_t>(&value->variant)) return *wide;
  if (const auto* narrow = std::get_if<std::int32_t>(&value->variant)) return *narrow;
  return std::nullopt;
}

std::optional<absl::Duration> Milliseconds(const amqp::Table& arguments, std::string_view name) {
  const std::optional<std::int64_t> number = Number(arguments, name);
  if (!number) return std::nullopt;
  return absl::Milliseconds(*number);
}

std::optional<std::string> Text(const amqp::Table& arguments, std::string_view name) {
  const amqp::Value* value = arguments.Find(name);
  const auto* text = value == nullptr ? nullptr : std::get_if<std::string>(&value->variant);
  if (text == nullptr) return std::nullopt;
  return *text;
}

}  // namespace

Queue::Queue(const QueueDeclaration& declaration)
    : name(declaration.name),
      durable(declaration.durable),
      arguments(declaration.arguments),
      type(QueueTypeIn(arguments)),
      message_ttl(Milliseconds(arguments, "x-message-ttl")),
      expires(Milliseconds(arguments, "x-expires")),
      dead_letter_exchange(Text(arguments, "x-dead-letter-exchange")),
      dead_letter_routing_key(Text(arguments, "x-dead-letter-routing-key")),
      reject_publish(Text(arguments, "x-overflow") == "reject-publish"),
      max_length(Number(arguments, "x-max-length")),
      delivery_limit(Number(arguments, "x-delivery-limit")) {
  at_least_once =
      quorum() && reject_publish && Text(arguments, "x-dead-letter-strategy") == "at-least-once";
}

std::string QueueTypeIn(const amqp::Table& arguments) {
  return Text(arguments, "x-queue-type").value_or("classic");
}

std::optional<absl::Duration> ConsumerTimeoutIn(const amqp::Table& arguments) {
  return Milliseconds(arguments, "x-consumer-timeout");
}

absl::Time DeadlineOf(const Content& content, const Queue& queue, absl::Time now) {
  absl::Time deadline = queue.message_ttl ? now + *queue.message_ttl : absl::InfiniteFuture();
  if (const auto& text = content.properties().expiration) {
    std::int64_t milliseconds = 0;
    const char* const end = text->data() + text->size();
    if (std::from_chars(text->data(), end, milliseconds).ptr == end) {
      deadline = std::min(deadline, now + absl::Milliseconds(milliseconds));
    }
  }
  return deadline;
}

}  // namespace retryq::testing
