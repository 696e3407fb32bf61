#ifndef RETRYQ_CLI_TEXT_JSON_LINE_H_
#define RETRYQ_CLI_TEXT_JSON_LINE_H_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/escaped_text.h"
#include "base/quoting.h"
#include "retryq/amqp/table.h"
#include "retryq/delivery.h"

namespace retryq::cli {

// Conversion of JSON from and to text and AMQP values, in one file so that the templates of
// nlohmann/json are compiled once.

// The deepest nesting of arrays and objects in a parsed text, because the stack is limited.
inline constexpr int kMaxJsonDepth = 100;

// Parses JSON from other programs. Returns a value that is_discarded() if the text is not JSON or
// nests deeper than kMaxJsonDepth.
nlohmann::json ParseJson(std::string_view text);
nlohmann::ordered_json ParseOrderedJson(std::string_view text);

// Returns why a text was discarded: "not JSON", "JSON that nests deeper than 100 levels", or the
// exact mistake for some common mistakes.
std::string WhyNotJson(std::string_view text);

// Writes JSON without spaces and without a line break. Invalid UTF-8 becomes U+FFFD, and the
// characters that EscapedText escapes become \uNNNN, so that a terminal can show the line.
std::string JsonLine(const nlohmann::json& json);
std::string JsonLine(const nlohmann::ordered_json& json);

// The format of times in JSON: UTC, with milliseconds.
std::string JsonTime(absl::Time time);

// Headers as a JSON object on one line, sorted by name; of equal names only the first.
//
//   integers, float, double     a number; NaN and the infinities as strings
//   decimal                     a string, "12.50"
//   timestamp                   a number, seconds since 1970
//   long string                 a string, invalid UTF-8 replaced by U+FFFD
//   byte array                  a string, base64
//   table, array, bool, void    an object, an array, true or false, null
//
// {"retryq-omitted": "<why>"} replaces a header that nests deeper than amqp::kMaxTableDepth, and
// the whole object if the line would be longer than `max_size`.
std::string HeadersJson(const Headers& headers, std::size_t max_size);

// The value of one header of any type, in the same format.
std::string HeaderJson(const amqp::FieldView& field, std::size_t max_size);

// Whether HeaderJson contains the whole value: nothing is omitted, also not the second field of the
// same name in a table, and no text that is not UTF-8 is replaced.
bool FitsHeaderJson(const amqp::FieldView& field, std::size_t max_size);

// Converts JSON to the value of a header or an argument: whole numbers become 64-bit integers,
// other numbers doubles, strings long strings and null void. kInvalidArgument for JSON that AMQP
// cannot carry: a number above 64 bits, a name above 255 bytes, more than amqp::kMaxTableDepth
// levels.
absl::StatusOr<amqp::Value> TypedValue(const nlohmann::json& json);

// Returns a duration: a text such as "30s", or a number of seconds. Returns nullopt for any other
// value, and for more than a hundred years.
std::optional<absl::Duration> DurationIn(const nlohmann::json& json);

// Parses a JSON scalar; any other text becomes a string.
amqp::Value ScalarOrText(const std::string& text);

// Reads fields of JSON from another program. A field that is missing or of another type counts as
// absent and never causes an exception.

// Returns the field; null if it is missing or `json` is not an object.
const nlohmann::json& FieldOf(const nlohmann::json& json, const char* name);

// Returns a string.
std::optional<std::string> TextOf(const nlohmann::json& json, const char* name);
// Returns a whole number in the range of int64.
std::optional<std::int64_t> IntegerOf(const nlohmann::json& json, const char* name);
std::optional<bool> BoolOf(const nlohmann::json& json, const char* name);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_TEXT_JSON_LINE_H_
