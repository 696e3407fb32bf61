#ifndef RETRYQ_CLI_TEXT_TYPED_VALUE_H_
#define RETRYQ_CLI_TEXT_TYPED_VALUE_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "retryq/amqp/table.h"

namespace retryq::cli {

// JSON as a value of a header or an argument: whole numbers are 64-bit integers, others doubles,
// texts long strings, null is no value; arrays and objects nest. kInvalidArgument for what AMQP
// cannot carry: a whole number beyond 64 bits with a sign, a name of more than 255 bytes, more than
// amqp::kMaxTableDepth levels.
absl::StatusOr<amqp::Value> TypedValue(const nlohmann::json& json);

// A JSON scalar by its type; everything else is text.
amqp::Value ScalarOrText(const std::string& text);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_TEXT_TYPED_VALUE_H_
