#include "content.h"

#include <optional>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "bytes.h"

namespace examples {
namespace {

using retryq::amqp::Message;
using retryq::amqp::Properties;

// Sets the field, and the flag that says so, where there is a value.
void Set(std::optional<std::string_view> value, amqp_flags_t flag, amqp_bytes_t* field,
         amqp_flags_t* flags) {
  if (!value) return;
  *field = ToBytes(*value);
  *flags |= flag;
}

template <typename T>
void Set(std::optional<T> value, amqp_flags_t flag, T* field, amqp_flags_t* flags) {
  if (!value) return;
  *field = *value;
  *flags |= flag;
}

// Where the encoded headers lie, without their length: behind the flags and the properties that
// come first, which are short strings.
std::string_view EncodedHeaders(std::string_view encoded, const amqp_basic_properties_t& decoded) {
  constexpr std::size_t kFlagsSize = 2;
  constexpr std::size_t kLengthSize = 4;
  std::size_t at = kFlagsSize;
  const auto skip_short_string = [&](amqp_flags_t flag) {
    if ((decoded._flags & flag) != 0)
      at += std::size_t{1} + static_cast<unsigned char>(encoded.at(at));
  };
  skip_short_string(AMQP_BASIC_CONTENT_TYPE_FLAG);
  skip_short_string(AMQP_BASIC_CONTENT_ENCODING_FLAG);
  std::size_t length = 0;
  for (const char byte : encoded.substr(at, kLengthSize)) {
    length = length << 8 | static_cast<unsigned char>(byte);
  }
  return encoded.substr(at + kLengthSize, length);
}

// Headers stay the bytes that came, whatever their types; the rest are views into
// `message->header`.
void SetProperties(const amqp_frame_t& frame, Message* message) {
  const std::string_view encoded = ToText(frame.payload.properties.raw);
  const auto& decoded =
      *static_cast<const amqp_basic_properties_t*>(frame.payload.properties.decoded);
  message->header = encoded;
  const auto text = [&](amqp_flags_t flag, amqp_bytes_t field) -> std::optional<std::string_view> {
    if ((decoded._flags & flag) == 0) return std::nullopt;
    const std::string_view value = ToText(field);
    if (value.empty()) return std::string_view();
    return std::string_view(message->header)
        .substr(static_cast<std::size_t>(value.data() - encoded.data()), value.size());
  };
  const auto number = [&]<typename T>(amqp_flags_t flag, T value) -> std::optional<T> {
    if ((decoded._flags & flag) == 0) return std::nullopt;
    return value;
  };
  Properties& to = message->properties;
  to.content_type = text(AMQP_BASIC_CONTENT_TYPE_FLAG, decoded.content_type);
  to.content_encoding = text(AMQP_BASIC_CONTENT_ENCODING_FLAG, decoded.content_encoding);
  if ((decoded._flags & AMQP_BASIC_HEADERS_FLAG) != 0) {
    to.headers = retryq::amqp::TableView(EncodedHeaders(message->header, decoded));
  }
  to.delivery_mode = number(AMQP_BASIC_DELIVERY_MODE_FLAG, decoded.delivery_mode);
  to.priority = number(AMQP_BASIC_PRIORITY_FLAG, decoded.priority);
  to.correlation_id = text(AMQP_BASIC_CORRELATION_ID_FLAG, decoded.correlation_id);
  to.reply_to = text(AMQP_BASIC_REPLY_TO_FLAG, decoded.reply_to);
  to.expiration = text(AMQP_BASIC_EXPIRATION_FLAG, decoded.expiration);
  to.message_id = text(AMQP_BASIC_MESSAGE_ID_FLAG, decoded.message_id);
  to.timestamp = number(AMQP_BASIC_TIMESTAMP_FLAG, decoded.timestamp);
  to.type = text(AMQP_BASIC_TYPE_FLAG, decoded.type);
  to.user_id = text(AMQP_BASIC_USER_ID_FLAG, decoded.user_id);
  to.app_id = text(AMQP_BASIC_APP_ID_FLAG, decoded.app_id);
  to.cluster_id = text(AMQP_BASIC_CLUSTER_ID_FLAG, decoded.cluster_id);
}

}  // namespace

absl::StatusOr<std::string> EncodeProperties(const Properties& properties, std::size_t max_size) {
  const DecodedTable headers(properties.headers.value_or(retryq::amqp::TableView()).bytes());
  if (!headers.status().ok()) return headers.status();
  amqp_basic_properties_t to{};
  amqp_flags_t* const flags = &to._flags;
  Set(properties.content_type, AMQP_BASIC_CONTENT_TYPE_FLAG, &to.content_type, flags);
  Set(properties.content_encoding, AMQP_BASIC_CONTENT_ENCODING_FLAG, &to.content_encoding, flags);
  if (properties.headers) {
    to.headers = headers.get();
    to._flags |= AMQP_BASIC_HEADERS_FLAG;
  }
  Set(properties.delivery_mode, AMQP_BASIC_DELIVERY_MODE_FLAG, &to.delivery_mode, flags);
  Set(properties.priority, AMQP_BASIC_PRIORITY_FLAG, &to.priority, flags);
  Set(properties.correlation_id, AMQP_BASIC_CORRELATION_ID_FLAG, &to.correlation_id, flags);
  Set(properties.reply_to, AMQP_BASIC_REPLY_TO_FLAG, &to.reply_to, flags);
  Set(properties.expiration, AMQP_BASIC_EXPIRATION_FLAG, &to.expiration, flags);
  Set(properties.message_id, AMQP_BASIC_MESSAGE_ID_FLAG, &to.message_id, flags);
  Set(properties.timestamp, AMQP_BASIC_TIMESTAMP_FLAG, &to.timestamp, flags);
  Set(properties.type, AMQP_BASIC_TYPE_FLAG, &to.type, flags);
  Set(properties.user_id, AMQP_BASIC_USER_ID_FLAG, &to.user_id, flags);
  Set(properties.app_id, AMQP_BASIC_APP_ID_FLAG, &to.app_id, flags);
  Set(properties.cluster_id, AMQP_BASIC_CLUSTER_ID_FLAG, &to.cluster_id, flags);

  std::string encoded(max_size, '\0');
  const int size = amqp_encode_properties(AMQP_BASIC_CLASS, &to, ToBytes(encoded));
  if (size < 0) return absl::InvalidArgumentError(amqp_error_string2(size));
  encoded.resize(static_cast<std::size_t>(size));
  return encoded;
}

Message& IncomingContent::Begin() {
  message_ = std::make_shared<Message>();
  return *message_;
}

std::shared_ptr<Message> IncomingContent::Add(const amqp_frame_t& frame) {
  if (message_ == nullptr) return nullptr;
  if (frame.frame_type == AMQP_FRAME_HEADER) {
    body_size_ = frame.payload.properties.body_size;
    message_->content.reserve(body_size_);
    SetProperties(frame, message_.get());
  } else {
    message_->content.append(ToText(frame.payload.body_fragment));
  }
  if (message_->content.size() < body_size_) return nullptr;
  message_->body = message_->content;
  return std::exchange(message_, nullptr);
}

}  // namespace examples
