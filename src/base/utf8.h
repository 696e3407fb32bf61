#ifndef RETRYQ_SRC_BASE_UTF8_H_
#define RETRYQ_SRC_BASE_UTF8_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace retryq {

bool IsUtf8(std::string_view text);

// Returns the longest beginning of `text` of at most `max_size` bytes that splits no code point.
std::string_view CutUtf8(std::string_view text, std::size_t max_size);

// Returns at most `max_size` bytes of `text` as valid UTF-8: each invalid byte becomes U+FFFD, and
// no code point is split. The result is a view of `text`, or of `*repaired` if there are invalid
// bytes.
std::string_view AsUtf8(std::string_view text, std::size_t max_size, std::string* repaired);

}  // namespace retryq

#endif  // RETRYQ_SRC_BASE_UTF8_H_
