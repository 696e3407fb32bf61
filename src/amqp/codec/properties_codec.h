#ifndef RETRYQ_AMQP_PROPERTIES_CODEC_H_
#define RETRYQ_AMQP_PROPERTIES_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "retryq/amqp/properties.h"

namespace retryq::amqp {

// The payload of a content header frame: class (always basic), weight (unused), size of the body,
// and the properties.
struct ContentHeader {
  std::uint64_t body_size = 0;
  Properties properties;
};

// Decodes a content header. Views in the result point into `payload`. The headers are valid
// (TableView::Validate). Errors are ProtocolErrors: 501 for a class without content, 505 for a
// weight other than zero, 502 for bytes that do not match their lengths and flags, or are left
// over.
absl::StatusOr<ContentHeader> DecodeContentHeader(std::string_view payload);
// The same, but fills in `*properties`, which must be empty, and `*body_size`. Both must not be
// used after an error.
absl::Status DecodeContentHeader(std::string_view payload, Properties* properties,
                                 std::uint64_t* body_size);

// Writes the payload, ContentHeaderSize bytes. Short strings in `properties` must be at most 255
// bytes.
void WriteContentHeader(std::uint64_t body_size, const Properties& properties, char* out);

// Appends the payload.
void AppendContentHeader(std::uint64_t body_size, const Properties& properties, std::string* out);

// Appends the payload in its frame.
void AppendContentHeaderFrame(std::uint16_t channel, std::uint64_t body_size,
                              const Properties& properties, std::string* out);

}  // namespace retryq::amqp

#endif  // RETRYQ_AMQP_PROPERTIES_CODEC_H_
