#ifndef RETRYQ_CLI_TEXT_TYPED_VALUE_H_
#define RETRYQ_CLI_TEXT_TYPED_VALUE_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "retryq/amqp/table.h"

namespace retryq::cli {

// Converts JSON to the value of a header or an argument: whole numbers become 64-bit integers,
// other numbers doubles, strings long strings and null void; arrays and objects nest. Returns
// kInvalidArgument for JSON that AMQP cannot carry: a whole number outside signed 64 bits, a name
// of more than 255 bytes, more than amqp::kMaxTableDepth levels.
absl::StatusOr<amqp::Value> TypedValue(const nlohmann::json& json);

// Parses a JSON scalar; any other text becomes a string.
amqp::Value ScalarOrText(const std::string& text);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_TEXT_TYPED_VALUE_H_
