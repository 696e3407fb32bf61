#ifndef RETRYQ_CLI_MESSAGES_JSON_LAYOUT_H_
#define RETRYQ_CLI_MESSAGES_JSON_LAYOUT_H_

#include <string>
#include <string_view>

namespace retryq::cli {

// Returns whether `text` is one JSON value, of any depth.
bool IsJson(std::string_view text);

// Formats a JSON value on several indented lines. Tokens stay unchanged, so numbers keep all digits
// and keys their order.
std::string LayOutJson(std::string_view json);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MESSAGES_JSON_LAYOUT_H_
