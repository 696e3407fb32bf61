#ifndef RETRYQ_SRC_RETRY_DELIVERY_ERROR_TEXT_H_
#define RETRYQ_SRC_RETRY_DELIVERY_ERROR_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace retryq {

// The most bytes of an error text that travel with a message.
inline constexpr std::size_t kMaxErrorSize = 1024;

// An error as people read it: "UNAVAILABLE: connection refused". The code is left out where it is
// UNKNOWN, which says nothing, and stands alone where there is no message.
std::string ErrorText(const absl::Status& error);
// The same in place of what is in `*out`, whose memory is used again.
void AssignErrorText(const absl::Status& error, std::string* out);

// At most `max_size` bytes of `text` in valid UTF-8: each byte that is not valid becomes U+FFFD,
// and the cut is between two code points. The result views `text`, or `*repaired` where there are
// any.
std::string_view AsUtf8(std::string_view text, std::size_t max_size, std::string* repaired);

// The longest beginning of `text` of at most `max_size` bytes that splits no code point.
std::string_view CutUtf8(std::string_view text, std::size_t max_size);

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_DELIVERY_ERROR_TEXT_H_
