#include "retry/publisher/copy.h"

#include <algorithm>
#include <array>
#include <limits>

#include "retry/delivery/error_text.h"
#include "retry/delivery/headers.h"
#include "retryq/amqp/table.h"

namespace retryq {
namespace {

// The pseudo-queue that answers of RPC go to. The broker refuses it from a channel that does not
// consume it, and puts a name behind it otherwise: alone, which AMQP 1.0 lets through, it leads
// nowhere.
constexpr std::string_view kDirectReplyTo = "amq.rabbitmq.reply-to";

std::int64_t AsInt64(std::uint64_t number) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::min(number, kMax));
}

bool StaysUnchanged(std::string_view name) {
  return !IsBrokerHeader(name) && !IsRoutingHeader(name);
}

bool StaysInCopy(std::string_view name) { return !IsRetryHeader(name) && StaysUnchanged(name); }

}  // namespace

void Copy::Take(const amqp::Message& message, bool (*stays)(std::string_view)) {
  properties_ = message.properties;
  properties_.delivery_mode = 2;
  properties_.expiration.reset();
  properties_.user_id.reset();
  if (properties_.reply_to == kDirectReplyTo) properties_.reply_to.reset();
  headers_.clear();
  amqp::TableWriter writer(&headers_);
  for (const amqp::FieldView& field : message.properties.headers.value_or(amqp::TableView())) {
    if (stays(field.name)) writer.Copy(field);
  }
}

bool Copy::Build(const Delivery& delivery, const Annotation& annotation,
                 std::size_t max_header_size) {
  Take(*delivery.message(), StaysInCopy);
  amqp::TableWriter writer(&headers_);
  writer.SetInt64(kRetryCountHeader, AsInt64(annotation.failures));
  if (annotation.first_failure) {
    writer.SetInt64(kRetryFirstFailureHeader, absl::ToUnixMillis(*annotation.first_failure));
  }
  writer.SetString(kRetryQueueHeader, delivery.queue());
  writer.SetString(kRetryExchangeHeader, delivery.exchange());
  writer.SetString(kRetryRoutingKeyHeader, delivery.routing_key());
  writer.SetString(kRetryIdHeader, annotation.id);
  if (annotation.remaining > absl::ZeroDuration()) {
    writer.SetInt64(kRetryRemainingHeader, absl::ToInt64Milliseconds(annotation.remaining));
  }
  headers_ += annotation.elsewhere;
  properties_.headers = amqp::TableView(headers_);

  const std::size_t necessary = amqp::ContentHeaderSize(properties_);
  if (necessary > max_header_size) return false;
  AddOptional(annotation, max_header_size - necessary);
  properties_.headers = amqp::TableView(headers_);
  return true;
}

// The most valuable first.
void Copy::AddOptional(const Annotation& annotation, std::size_t room) {
  const std::size_t limit = headers_.size() + room;
  amqp::TableWriter writer(&headers_);
  const auto add = [&](std::string_view name, std::int64_t value) {
    const std::size_t before = headers_.size();
    writer.SetInt64(name, value);
    if (headers_.size() > limit) headers_.resize(before);
  };
  if (annotation.delay) add(kRetryDelayHeader, absl::ToInt64Milliseconds(*annotation.delay));
  if (annotation.not_before) {
    add(kRetryNotBeforeHeader, UnixMillisRoundedUp(*annotation.not_before));
  }
  if (annotation.parked) add(kRetryParkedHeader, absl::ToUnixMillis(*annotation.parked));

  const std::size_t before = headers_.size();
  writer.SetString(kRetryErrorHeader, {});
  const std::size_t with_no_text = headers_.size();
  headers_.resize(before);
  if (with_no_text >= limit) return;
  const std::size_t most = std::min(limit - with_no_text, kMaxErrorSize);
  const std::string_view error = AsUtf8(annotation.error, most, &error_);
  if (!error.empty()) writer.SetString(kRetryErrorHeader, error);
}

bool Copy::BuildUnchanged(const amqp::Message& message, std::size_t max_header_size) {
  Take(message, StaysUnchanged);
  if (properties_.headers) properties_.headers = amqp::TableView(headers_);
  if (amqp::ContentHeaderSize(properties_) <= max_header_size) return true;
  // A mode that it did not have is a byte more than it came with.
  properties_.delivery_mode = message.properties.delivery_mode;
  return amqp::ContentHeaderSize(properties_) <= max_header_size;
}

std::int64_t UnixMillisRoundedUp(absl::Time time) {
  static const absl::Duration kJustBelowAMillisecond =
      absl::Milliseconds(1) - absl::Nanoseconds(1) / 4;
  return absl::ToUnixMillis(time + kJustBelowAMillisecond);
}

std::string NewRetryId(Random& random) {
  std::string id;
  AssignNewRetryId(random, &id);
  return id;
}

void AssignNewRetryId(Random& random, std::string* out) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::array<char, 32> digits;
  for (std::size_t i = 0; i < digits.size();) {
    const std::uint64_t bits = random.Next();
    for (int shift = 60; shift >= 0; shift -= 4) digits[i++] = kDigits[bits >> shift & 0xF];
  }
  out->assign(digits.data(), digits.size());
}

}  // namespace retryq
