#include "retry/copy.h"

#include <algorithm>
#include <array>
#include <limits>

#include "amqp/properties_codec.h"
#include "retry/error_text.h"
#include "retry/headers.h"
#include "retryq/amqp/table.h"

namespace retryq {
namespace {

// Bytes of a field around its value: the name with its length, the type.
constexpr std::size_t FieldSize(std::string_view name, std::size_t value_size) {
  return 1 + name.size() + 1 + value_size;
}

constexpr std::size_t kInt64Size = 8;
constexpr std::size_t kLengthSize = 4;  // in front of a long string

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
  headers_.clear();
  properties_ = message.properties;
  properties_.delivery_mode = 2;
  properties_.expiration.reset();
  properties_.user_id.reset();
  if (!properties_.headers) return;
  amqp::TableWriter writer(&headers_);
  for (const amqp::FieldView& field : *message.properties.headers) {
    if (stays(field.name)) writer.Copy(field);
  }
  properties_.headers = amqp::TableView(headers_);
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
  properties_.headers = amqp::TableView(headers_);

  const std::size_t necessary = amqp::ContentHeaderSize(properties_);
  if (necessary > max_header_size) return false;
  AddOptional(annotation, max_header_size - necessary);
  return true;
}

// The most valuable first.
void Copy::AddOptional(const Annotation& annotation, std::size_t room) {
  amqp::TableWriter writer(&headers_);
  const auto reserve = [&room](std::size_t size) {
    if (size > room) return false;
    room -= size;
    return true;
  };
  if (annotation.delay && reserve(FieldSize(kRetryDelayHeader, kInt64Size))) {
    writer.SetInt64(kRetryDelayHeader, absl::ToInt64Milliseconds(*annotation.delay));
  }
  if (annotation.not_before && reserve(FieldSize(kRetryNotBeforeHeader, kInt64Size))) {
    writer.SetInt64(kRetryNotBeforeHeader, UnixMillisRoundedUp(*annotation.not_before));
  }
  if (annotation.parked && reserve(FieldSize(kRetryParkedHeader, kInt64Size))) {
    writer.SetInt64(kRetryParkedHeader, absl::ToUnixMillis(*annotation.parked));
  }
  if (reserve(FieldSize(kRetryErrorHeader, kLengthSize))) {
    AssignUtf8(annotation.error, std::min(room, kMaxErrorSize), &error_);
    if (!error_.empty()) writer.SetString(kRetryErrorHeader, error_);
  }
  properties_.headers = amqp::TableView(headers_);
}

bool Copy::BuildUnchanged(const amqp::Message& message, std::size_t max_header_size) {
  Take(message, StaysUnchanged);
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
