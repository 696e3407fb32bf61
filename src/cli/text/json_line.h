#ifndef RETRYQ_CLI_TEXT_JSON_LINE_H_
#define RETRYQ_CLI_TEXT_JSON_LINE_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "absl/time/time.h"

namespace retryq::cli {

// Conversion of JSON from and to text, in one file so that the templates of nlohmann/json are
// compiled once.

// The deepest nesting of arrays and objects in a parsed text, as the stack is limited.
inline constexpr int kMaxJsonDepth = 100;

// Parses JSON from other programs. Returns a value that is_discarded() if the text is not JSON or
// nests deeper than kMaxJsonDepth.
nlohmann::json ParseJson(std::string_view text);
nlohmann::ordered_json ParseOrderedJson(std::string_view text);

// Returns why a text was discarded: "not JSON", "JSON that nests deeper than 100 levels", or the
// mistake for some common ones.
std::string WhyNotJson(std::string_view text);

// Writes JSON without spaces and without a line break. Invalid UTF-8 becomes U+FFFD, and the
// characters that EscapedText escapes become \uNNNN, so that a terminal can show the line.
std::string JsonLine(const nlohmann::json& json);
std::string JsonLine(const nlohmann::ordered_json& json);

// The format of times in JSON: UTC, with milliseconds.
std::string JsonTime(absl::Time time);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_TEXT_JSON_LINE_H_
