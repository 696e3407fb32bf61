#ifndef RETRYQ_CLI_MANAGEMENT_JSON_FIELDS_H_
#define RETRYQ_CLI_MANAGEMENT_JSON_FIELDS_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace retryq::cli {

// Fields of JSON from another program: what is missing or of another type than asked for
// is nothing, never an exception.

// The field itself; null where there is none, or `json` is no object.
const nlohmann::json& FieldOf(const nlohmann::json& json, const char* name);

// A string.
std::optional<std::string> TextOf(const nlohmann::json& json, const char* name);
// A whole number in int64's range.
std::optional<std::int64_t> IntegerOf(const nlohmann::json& json, const char* name);
// Any number.
std::optional<double> NumberOf(const nlohmann::json& json, const char* name);
std::optional<bool> BoolOf(const nlohmann::json& json, const char* name);

// A name or text from outside as EscapedText writes it, at most `max_bytes` long: "..." stands for
// the rest.
std::string Printable(const std::string& text, std::size_t max_bytes = 300);

// The same, in single quotes.
std::string InQuotes(const std::string& text);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MANAGEMENT_JSON_FIELDS_H_
