#include "retry/publisher/copy.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <limits>

#include "amqp/codec/properties_codec.h"
#include "retry/delivery/error_text.h"
#include "retry/delivery/headers.h"
#include "retryq/amqp/table.h"

namespace retryq {
namespace {

// The pseudo-queue that answers of RPC go to. The broker refuses it from a channel that does not
// consume it, and puts a name behind it otherwise: alone, which AMQP 1.0 lets through, it leads
// nowhere.
constexpr std::string_view kDirectReplyTo = "amq.rabbitmq.reply-to";

// The most that the fields of retrying take, without the delivery's texts.
constexpr std::size_t MostFieldsSize() {
  std::size_t size = kMaxErrorSize;
  for (const std::string_view name : kRetryHeaders) {
    size += amqp::FieldSize(name, std::max(amqp::kInt64Size, amqp::StringSize({})));
  }
  return size;
}

std::int64_t AsInt64(std::uint64_t number) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::min(number, kMax));
}

bool StaysUnchanged(std::string_view name) {
  return !IsBrokerHeader(name) && !IsRoutingHeader(name);
}

bool StaysInCopy(std::string_view name) { return !IsRetryHeader(name) && StaysUnchanged(name); }

}  // namespace

amqp::TableFieldWriter Copy::Take(const amqp::Message& message, bool (*stays)(std::string_view),
                                  std::size_t more) {
  properties_ = message.properties;
  properties_.delivery_mode = 2;
  properties_.expiration.reset();
  properties_.user_id.reset();
  if (properties_.reply_to == kDirectReplyTo) properties_.reply_to.reset();
  const amqp::TableView headers = properties_.headers.value_or(amqp::TableView());
  const std::size_t room = headers.bytes().size() + more;
  if (headers_.size() < room) headers_.resize(room);
  amqp::TableFieldWriter writer(headers_.data());
  for (const amqp::FieldView& field : headers) {
    if (stays(field.name)) writer.Copy(field);
  }
  return writer;
}

void Copy::SetHeaders(const amqp::TableFieldWriter& writer) {
  const auto size = static_cast<std::size_t>(writer.end() - headers_.data());
  assert(size <= headers_.size());
  properties_.headers = amqp::TableView(std::string_view(headers_).substr(0, size));
}

bool Copy::Build(const Delivery& delivery, const Annotation& annotation,
                 std::size_t max_header_size) {
  const std::string_view queue = delivery.queue();
  const std::string_view exchange = delivery.exchange();
  const std::string_view routing_key = delivery.routing_key();
  amqp::TableFieldWriter writer = Take(*delivery.message(), StaysInCopy,
                                       MostFieldsSize() + queue.size() + exchange.size() +
                                           routing_key.size() + annotation.id.size());
  writer.SetInt64(kRetryCountHeader, AsInt64(annotation.failures));
  if (annotation.first_failure) {
    writer.SetInt64(kRetryFirstFailureHeader, absl::ToUnixMillis(*annotation.first_failure));
  }
  writer.SetString(kRetryQueueHeader, queue);
  writer.SetString(kRetryExchangeHeader, exchange);
  writer.SetString(kRetryRoutingKeyHeader, routing_key);
  writer.SetString(kRetryIdHeader, annotation.id);
  if (annotation.remaining > absl::ZeroDuration()) {
    writer.SetInt64(kRetryRemainingHeader, absl::ToInt64Milliseconds(annotation.remaining));
  }
  SetHeaders(writer);

  const std::size_t necessary = amqp::ContentHeaderSize(properties_);
  if (necessary > max_header_size) return false;
  AddOptional(annotation, max_header_size - necessary, &writer);
  SetHeaders(writer);
  return true;
}

// The most valuable first.
void Copy::AddOptional(const Annotation& annotation, std::size_t room,
                       amqp::TableFieldWriter* writer) {
  const auto reserve = [&room](std::string_view name, std::size_t value_size) {
    const std::size_t size = amqp::FieldSize(name, value_size);
    if (size > room) return false;
    room -= size;
    return true;
  };
  if (annotation.delay && reserve(kRetryDelayHeader, amqp::kInt64Size)) {
    writer->SetInt64(kRetryDelayHeader, absl::ToInt64Milliseconds(*annotation.delay));
  }
  if (annotation.not_before && reserve(kRetryNotBeforeHeader, amqp::kInt64Size)) {
    writer->SetInt64(kRetryNotBeforeHeader, UnixMillisRoundedUp(*annotation.not_before));
  }
  if (annotation.parked && reserve(kRetryParkedHeader, amqp::kInt64Size)) {
    writer->SetInt64(kRetryParkedHeader, absl::ToUnixMillis(*annotation.parked));
  }
  if (reserve(kRetryErrorHeader, amqp::StringSize({}))) {
    const std::string_view error = AsUtf8(annotation.error, std::min(room, kMaxErrorSize), &error_);
    if (!error.empty()) writer->SetString(kRetryErrorHeader, error);
  }
}

bool Copy::BuildUnchanged(const amqp::Message& message, std::size_t max_header_size) {
  const amqp::TableFieldWriter writer = Take(message, StaysUnchanged, 0);
  if (properties_.headers) SetHeaders(writer);
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
