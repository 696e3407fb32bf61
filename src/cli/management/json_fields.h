#ifndef RETRYQ_CLI_MANAGEMENT_JSON_FIELDS_H_
#define RETRYQ_CLI_MANAGEMENT_JSON_FIELDS_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/escaped_text.h"
#include "base/quoting.h"

namespace retryq::cli {

// Reads fields of JSON from another program. A field that is missing or of another type counts as
// absent and never causes an exception.

// Returns the field; null if it is missing or `json` is not an object.
const nlohmann::json& FieldOf(const nlohmann::json& json, const char* name);

// Returns a string.
std::optional<std::string> TextOf(const nlohmann::json& json, const char* name);
// Returns a whole number in the range of int64.
std::optional<std::int64_t> IntegerOf(const nlohmann::json& json, const char* name);
// Returns any number.
std::optional<double> NumberOf(const nlohmann::json& json, const char* name);
std::optional<bool> BoolOf(const nlohmann::json& json, const char* name);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MANAGEMENT_JSON_FIELDS_H_
