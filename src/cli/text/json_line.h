#ifndef RETRYQ_CLI_TEXT_JSON_LINE_H_
#define RETRYQ_CLI_TEXT_JSON_LINE_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "absl/time/time.h"

namespace retryq::cli {

// Text to JSON and back, here so that what nlohmann/json needs for it is compiled once.

// Levels of arrays and objects in a text that is parsed. No more, because the stack limits them.
inline constexpr int kMaxJsonDepth = 100;

// All JSON that another program wrote is parsed here. Returns a value that is_discarded() if the
// text is not JSON, or nests deeper than kMaxJsonDepth.
nlohmann::json ParseJson(std::string_view text);
nlohmann::ordered_json ParseOrderedJson(std::string_view text);

// What a text is that was discarded: "not JSON", "JSON that nests deeper than 100 levels", and for
// what many programs write by mistake what that is.
std::string WhyNotJson(std::string_view text);

// Without any space, and without an end of line. What is not UTF-8 becomes U+FFFD, and what
// EscapedText escapes is written as \uNNNN, so that a terminal can show the line.
std::string JsonLine(const nlohmann::json& json);
std::string JsonLine(const nlohmann::ordered_json& json);

// As all JSON has it: UTC, with milliseconds.
std::string JsonTime(absl::Time time);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_TEXT_JSON_LINE_H_
