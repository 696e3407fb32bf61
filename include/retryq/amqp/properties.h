#ifndef RETRYQ_AMQP_PROPERTIES_H_
#define RETRYQ_AMQP_PROPERTIES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "retryq/amqp/table.h"
#include "retryq/export.h"

namespace retryq::amqp {

// The properties of a message, as views: for a delivery, into its buffer; for a publish, into
// memory that the caller keeps alive until `Publish` returns. Each field is either absent or
// exactly the bytes on the wire; short strings are at most 255 bytes and need not be UTF-8.
struct Properties {
  std::optional<std::string_view> content_type = std::nullopt;
  std::optional<std::string_view> content_encoding = std::nullopt;
  std::optional<TableView> headers = std::nullopt;
  std::optional<std::uint8_t> delivery_mode = std::nullopt;  // 1 transient, 2 persistent
  std::optional<std::uint8_t> priority = std::nullopt;
  std::optional<std::string_view> correlation_id = std::nullopt;
  std::optional<std::string_view> reply_to = std::nullopt;
  std::optional<std::string_view> expiration = std::nullopt;  // milliseconds, as decimal text
  std::optional<std::string_view> message_id = std::nullopt;
  std::optional<std::uint64_t> timestamp = std::nullopt;  // seconds since the Unix epoch
  std::optional<std::string_view> type = std::nullopt;
  std::optional<std::string_view> user_id = std::nullopt;
  std::optional<std::string_view> app_id = std::nullopt;
  std::optional<std::string_view> cluster_id = std::nullopt;
};

// Size in bytes of a content header with these properties: the payload of its frame, which
// `Broker::max_header_size` and `Connection::max_header_size` limit.
RETRYQ_EXPORT std::size_t ContentHeaderSize(const Properties& properties);

}  // namespace retryq::amqp

#endif  // RETRYQ_AMQP_PROPERTIES_H_
