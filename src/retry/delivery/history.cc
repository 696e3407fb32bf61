#include "retry/delivery/history.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "retry/delivery/deaths.h"
#include "retry/delivery/error_text.h"
#include "retry/delivery/headers.h"
#include "retryq/amqp/table.h"

namespace retryq {
namespace {

// Half of RabbitMQ's default limit: room for those who die before they have moved it.
constexpr std::int64_t kManyDeliveries = 10;

// Names, routing keys and message ids are short strings.
constexpr std::size_t kMaxShortString = 255;

using Field = std::optional<amqp::FieldView>;

// A message's `x-retry-*` fields, found in one walk. Of fields of one name the first counts.
struct RetryFields {
  explicit RetryFields(const amqp::Message& message) {
    if (!message.properties.headers) return;
    for (const amqp::FieldView& field : *message.properties.headers) {
      Field* const known = field.name.starts_with(kRetryPrefix) ? Named(field.name) : nullptr;
      if (known != nullptr && !*known) *known = field;
    }
  }

  Field* Named(std::string_view name) {
    if (name == kRetryCountHeader) return &count;
    if (name == kRetryFirstFailureHeader) return &first_failure;
    if (name == kRetryNotBeforeHeader) return &not_before;
    if (name == kRetryDelayHeader) return &delay;
    if (name == kRetryQueueHeader) return &queue;
    if (name == kRetryExchangeHeader) return &exchange;
    if (name == kRetryRoutingKeyHeader) return &routing_key;
    if (name == kRetryErrorHeader) return &error;
    if (name == kRetryIdHeader) return &id;
    if (name == kRetryRemainingHeader) return &remaining;
    return nullptr;
  }

  Field count, first_failure, not_before, delay, queue, exchange, routing_key, error, id, remaining;
};

std::optional<std::string_view> Text(const Field& field) {
  return field ? field->AsString() : std::nullopt;
}

std::optional<std::string_view> ShortText(const Field& field) {
  const std::optional<std::string_view> text = Text(field);
  return text && text->size() <= kMaxShortString ? text : std::nullopt;
}

std::optional<std::int64_t> Natural(const Field& field) {
  const std::optional<std::int64_t> number = field ? field->AsInt64() : std::nullopt;
  return number >= 0 ? number : std::nullopt;
}

std::optional<absl::Time> Time(const Field& field) {
  const std::optional<std::int64_t> millis = Natural(field);
  if (!millis) return std::nullopt;
  return absl::FromUnixMillis(*millis);
}

std::optional<absl::Duration> Duration(const Field& field) {
  const std::optional<std::int64_t> millis = Natural(field);
  if (!millis) return std::nullopt;
  return absl::Milliseconds(*millis);
}

bool IsOneOf(std::string_view name, std::string_view queue,
             const std::vector<std::string>& former) {
  return name == queue || std::find(former.begin(), former.end(), name) != former.end();
}

// `<prefix>.<delay>`, and whatever may follow after one more dot: `direct`, a hash.
bool IsDelayQueue(std::string_view queue, std::string_view prefix, std::int64_t delay) {
  const std::string name = absl::StrCat(std::string(prefix), ".", delay);
  return queue.starts_with(name) && (queue.size() == name.size() || queue[name.size()] == '.');
}

}  // namespace

Delivery::History ReadHistory(const amqp::Message& message, std::string_view queue,
                              const std::vector<std::string>& former) {
  Delivery::History history;
  history.exchange = message.exchange;
  history.routing_key = message.routing_key;

  const RetryFields fields(message);
  if (fields.queue && !IsOneOf(Text(fields.queue).value_or(std::string_view()), queue, former)) {
    return history;
  }
  history.id = ShortText(fields.id).value_or(std::string_view());
  // What was published with a delay does not know which queue it comes to.
  if (!fields.queue && !fields.remaining) return history;
  history.not_before = Time(fields.not_before);
  history.delay = Duration(fields.delay);
  history.remaining = Duration(fields.remaining);
  if (!fields.queue) return history;

  history.failures = static_cast<std::uint64_t>(Natural(fields.count).value_or(0));
  history.first_failure = Time(fields.first_failure);
  history.last_error = CutUtf8(Text(fields.error).value_or(std::string_view()), kMaxErrorSize);

  const std::optional<std::string_view> exchange = ShortText(fields.exchange);
  const std::optional<std::string_view> routing_key = ShortText(fields.routing_key);
  if (exchange && routing_key) {
    history.exchange = *exchange;
    history.routing_key = *routing_key;
  }
  return history;
}

// The count of a message that is not redelivered is another's, or anyone's: 4.0 shows on the first
// delivery what came with the message.
bool IsNearDeliveryLimit(const amqp::Message& message) {
  if (!message.redelivered || !message.properties.headers) return false;
  return Natural(message.properties.headers->Find(kDeliveryCountHeader)).value_or(0) >=
         kManyDeliveries;
}

bool IsOthersRetry(const amqp::Message& message, std::string_view queue, std::string_view prefix,
                   const std::vector<std::string>& former) {
  const RetryFields fields(message);
  const std::optional<std::string_view> failed_in = Text(fields.queue);
  if (!failed_in || IsOneOf(*failed_in, queue, former)) return false;
  if (Text(fields.exchange) != message.exchange) return false;
  if (Text(fields.routing_key) != message.routing_key) return false;

  const std::optional<std::int64_t> delay = Natural(fields.delay);
  if (!delay) return false;
  const std::optional<LastDeath> death = ReadLastDeath(message);
  return death && death->reason == "expired" && IsDelayQueue(death->queue, prefix, *delay);
}

std::optional<LastDeath> ReadLastDeath(const amqp::Message& message) {
  std::vector<Death> deaths = ReadDeaths(message);
  if (deaths.empty()) return std::nullopt;
  return LastDeath{.queue = std::move(deaths.front().queue),
                   .reason = std::move(deaths.front().reason)};
}

}  // namespace retryq
