#include "retry/publisher/copy.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "base/header_names.h"
#include "base/retry_id.h"
#include "base/utf8.h"
#include "retry/delivery/error_text.h"
#include "retry/delivery/headers.h"
#include "retryq/amqp/table.h"

namespace retryq {
namespace {

std::int64_t AsInt64(std::uint64_t number) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::min(number, kMax));
}

// Returns the size of an encoded field: the length of its name, the name, the type and the value.
std::size_t FieldSize(std::string_view name, std::size_t value_size) {
  return 1 + name.size() + 1 + value_size;
}

// Assigns the rest of the expiration. The rest is never longer than the expiration, and above zero
// unless the expiration was zero, because the message has not expired yet.
void AssignRest(std::string_view expiration, absl::Duration waited, std::string* out) {
  std::int64_t whole = 0;
  if (!absl::SimpleAtoi(absl::string_view(expiration.data(), expiration.size()), &whole)) {
    out->assign(expiration);
    return;
  }
  const std::int64_t gone = std::max<std::int64_t>(absl::ToInt64Milliseconds(waited), 0);
  *out = std::to_string(gone < whole ? whole - gone : std::min<std::int64_t>(whole, 1));
}

}  // namespace

void Copy::Take(const amqp::Message& message, CopyPath path, amqp::Properties* properties) {
  headers_.clear();
  AssignCopyProperties(message.properties, path, &headers_, properties);
}

// The trace headers of an earlier copy, which the tracer replaces.
void Copy::DropLastTrace() {
  std::string kept;
  amqp::TableWriter writer(&kept);
  for (const amqp::FieldView& field : amqp::TableView(headers_)) {
    if (!IsTraceHeader(field.name)) writer.Copy(field);
  }
  headers_ = std::move(kept);
}

void Copy::KeepRest(const amqp::Message& message, absl::Duration waited,
                    amqp::Properties* properties) {
  properties->delivery_mode = message.properties.delivery_mode;
  if (!message.properties.expiration) return;
  AssignRest(*message.properties.expiration, waited, &expiration_);
  properties->expiration = expiration_;
}

void Copy::AddLayout(const Delivery& delivery, const Annotation& annotation) {
  const bool fits = layout_.exchange == delivery.exchange() &&
                    layout_.routing_key == delivery.routing_key() &&
                    layout_.id_size == annotation.id.size() &&
                    (layout_.first_failure_at != 0) == annotation.first_failure.has_value() &&
                    (layout_.delay_at != 0) == annotation.delay.has_value() &&
                    (layout_.not_before_at != 0) == annotation.not_before.has_value();
  if (!fits || layout_.bytes.empty()) SetLayout(delivery, annotation);
  const std::size_t begin = headers_.size();
  headers_.append(layout_.bytes);
  char* const out = headers_.data() + begin;
  const auto set = [out](std::size_t at, std::int64_t value) {
    amqp::TableWriter::ReplaceInt64(value, out + at);
  };
  set(layout_.count_at, AsInt64(annotation.failures));
  if (annotation.first_failure) {
    set(layout_.first_failure_at, absl::ToUnixMillis(*annotation.first_failure));
  }
  annotation.id.copy(out + layout_.id_at, annotation.id.size());
  if (annotation.delay) set(layout_.delay_at, absl::ToInt64Milliseconds(*annotation.delay));
  if (annotation.not_before) {
    set(layout_.not_before_at, UnixMillisRoundedUp(*annotation.not_before));
  }
}

void Copy::SetLayout(const Delivery& delivery, const Annotation& annotation) {
  layout_ = {.exchange = std::string(delivery.exchange()),
             .routing_key = std::string(delivery.routing_key()),
             .id_size = annotation.id.size()};
  std::string& bytes = layout_.bytes;
  amqp::TableWriter writer(&bytes);
  const auto add_number = [&](std::string_view name) {
    writer.SetInt64(name, 0);
    return bytes.size() - sizeof(std::int64_t);
  };
  layout_.count_at = add_number(kRetryCountHeader);
  if (annotation.first_failure) layout_.first_failure_at = add_number(kRetryFirstFailureHeader);
  writer.SetString(kRetryQueueHeader, queue_);
  writer.SetString(kRetryExchangeHeader, layout_.exchange);
  writer.SetString(kRetryRoutingKeyHeader, layout_.routing_key);
  writer.SetString(kRetryIdHeader, annotation.id);
  layout_.id_at = bytes.size() - layout_.id_size;
  if (annotation.delay) layout_.delay_at = add_number(kRetryDelayHeader);
  if (annotation.not_before) layout_.not_before_at = add_number(kRetryNotBeforeHeader);
}

bool Copy::Build(const Delivery& delivery, const Annotation& annotation,
                 std::size_t max_header_size, amqp::Properties* properties) {
  if (TryToBuild(delivery, annotation, max_header_size, properties)) return true;
  Annotation less = annotation;
  less.not_before.reset();
  if (TryToBuild(delivery, less, max_header_size, properties)) return true;
  less.delay.reset();
  return TryToBuild(delivery, less, max_header_size, properties);
}

// Returns false if there is no space for all headers except `error` and `parked`.
bool Copy::TryToBuild(const Delivery& delivery, const Annotation& annotation,
                      std::size_t max_header_size, amqp::Properties* properties) {
  Take(*delivery.message(), CopyPath::kRetry, properties);
  if (annotation.waited) KeepRest(*delivery.message(), *annotation.waited, properties);
  if (!annotation.trace.empty() &&
      amqp::TableView(annotation.trace).Find(kRetryTraceparentHeader)) {
    DropLastTrace();
  }
  AddLayout(delivery, annotation);
  amqp::TableWriter writer(&headers_);
  if (annotation.remaining > absl::ZeroDuration()) {
    writer.SetInt64(kRetryRemainingHeader, absl::ToInt64Milliseconds(annotation.remaining));
  }
  headers_ += annotation.elsewhere;
  properties->headers = amqp::TableView(headers_);

  const std::size_t necessary = amqp::ContentHeaderSize(*properties);
  if (necessary > max_header_size) return false;
  AddOptional(annotation, max_header_size - necessary);
  properties->headers = amqp::TableView(headers_);
  return true;
}

// Adds the most valuable headers first.
void Copy::AddOptional(const Annotation& annotation, std::size_t room) {
  const std::size_t limit = headers_.size() + room;
  amqp::TableWriter writer(&headers_);
  if (annotation.parked &&
      headers_.size() + FieldSize(kRetryParkedHeader, sizeof(std::int64_t)) <= limit) {
    writer.SetInt64(kRetryParkedHeader, absl::ToUnixMillis(*annotation.parked));
  }
  if (!annotation.trace.empty() && headers_.size() + annotation.trace.size() <= limit) {
    headers_ += annotation.trace;
  }
  const std::size_t with_no_text =
      headers_.size() + FieldSize(kRetryErrorHeader, sizeof(std::uint32_t));
  if (with_no_text >= limit) return;
  const std::size_t most = std::min(limit - with_no_text, kMaxErrorSize);
  const std::string_view error = AsUtf8(annotation.error, most, &error_);
  if (!error.empty()) writer.SetString(kRetryErrorHeader, error);
}

bool Copy::BuildUnchanged(const amqp::Message& message, std::size_t max_header_size,
                          amqp::Properties* properties) {
  Take(message, CopyPath::kUnchanged, properties);
  if (amqp::ContentHeaderSize(*properties) <= max_header_size) return true;
  // Setting a delivery mode that the message did not have makes the copy one byte larger.
  properties->delivery_mode = message.properties.delivery_mode;
  return amqp::ContentHeaderSize(*properties) <= max_header_size;
}

bool Copy::BuildReturn(const amqp::Message& message, absl::Duration waited,
                       std::size_t max_header_size, amqp::Properties* properties) {
  Take(message, CopyPath::kReturn, properties);
  KeepRest(message, waited, properties);
  return amqp::ContentHeaderSize(*properties) <= max_header_size;
}

std::int64_t UnixMillisRoundedUp(absl::Time time) {
  const std::int64_t millis = absl::ToUnixMillis(time);
  const bool is_later = absl::FromUnixMillis(millis) < time;
  return is_later && millis < std::numeric_limits<std::int64_t>::max() ? millis + 1 : millis;
}

std::string NewRetryId(Random& random) {
  std::string id;
  AssignNewRetryId(random, &id);
  return id;
}

void AssignNewRetryId(Random& random, std::string* out) {
  const std::uint64_t high = random.Next();
  out->assign(RetryId(high, random.Next()).text());
}

}  // namespace retryq
