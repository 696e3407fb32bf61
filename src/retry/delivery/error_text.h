#ifndef RETRYQ_SRC_RETRY_DELIVERY_ERROR_TEXT_H_
#define RETRYQ_SRC_RETRY_DELIVERY_ERROR_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace retryq {

// The largest size of an error text in a message, in bytes.
inline constexpr std::size_t kMaxErrorSize = 1024;

// Returns the error as text for people: "UNAVAILABLE: connection refused". The code UNKNOWN is left
// out. An error without a message is only its code.
std::string ErrorText(const absl::Status& error);
// Assigns that text to `*out`, and reuses its memory.
void AssignErrorText(const absl::Status& error, std::string* out);

// Returns at most `max_size` bytes of `text` as valid UTF-8: each invalid byte becomes U+FFFD, and
// no code point is split. The result is a view of `text`, or of `*repaired` if there are invalid
// bytes.
std::string_view AsUtf8(std::string_view text, std::size_t max_size, std::string* repaired);

// Returns the longest beginning of `text` of at most `max_size` bytes that splits no code point.
std::string_view CutUtf8(std::string_view text, std::size_t max_size);

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_DELIVERY_ERROR_TEXT_H_
