#ifndef RETRYQ_CLI_MESSAGES_JSON_LAYOUT_H_
#define RETRYQ_CLI_MESSAGES_JSON_LAYOUT_H_

#include <string>
#include <string_view>

namespace retryq::cli {

// Whether it is one JSON value, however deeply it nests.
bool IsJson(std::string_view text);

// A JSON value on several lines, indented. Its tokens stay as they are, so that no number loses a
// digit and no key its place.
std::string LayOutJson(std::string_view json);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MESSAGES_JSON_LAYOUT_H_
