#include "cli/messages/message_past.h"

#include <algorithm>
#include <cstddef>

#include "retryq/amqp/table.h"
#include "retryq/delivery.h"

namespace retryq::cli {
namespace {

constexpr std::size_t kMaxName = 255;  // of a queue, an exchange, a routing key, a message-id

}  // namespace

MessagePast::MessagePast(const amqp::Message& message) {
  const amqp::TableView headers = message.properties.headers.value_or(amqp::TableView());
  const Headers visible(headers);
  const auto text_of = [&](std::string_view header) {
    return visible.IsHidden(header) ? headers.FindString(header) : std::nullopt;
  };
  const auto name = [&](std::string_view header) {
    std::optional<std::string_view> text = text_of(header);
    return text && text->size() <= kMaxName ? text : std::nullopt;
  };
  const auto natural = [&](std::string_view header) {
    const std::optional<std::int64_t> number =
        visible.IsHidden(header) ? headers.FindInt64(header) : std::nullopt;
    return number >= 0 ? number : std::nullopt;
  };

  retry_id = name("x-retry-id");
  id = retry_id ? retry_id : message.properties.message_id;
  if (!id) id = message.properties.correlation_id;  // the only id that Celery sets
  if (const auto count = natural("x-retry-count")) attempts = static_cast<std::uint64_t>(*count);
  const auto time = [natural](std::string_view header) -> std::optional<absl::Time> {
    const std::optional<std::int64_t> millis = natural(header);
    if (!millis) return std::nullopt;
    return absl::FromUnixMillis(*millis);
  };
  first_failure = time("x-retry-first-failure");
  parked = time("x-retry-parked");
  edited = time("x-retry-edited");
  due = time("x-retry-not-before");
  error = text_of("x-retry-error");
  queue = name("x-retry-queue");
  exchange = name("x-retry-exchange");
  routing_key = name("x-retry-routing-key");
  if (message.redelivered) returns = natural("x-delivery-count").value_or(0);
}

}  // namespace retryq::cli
