#ifndef RETRYQ_CLI_PARKED_REPLACEMENT_H_
#define RETRYQ_CLI_PARKED_REPLACEMENT_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "retryq/amqp/message.h"

namespace retryq::cli {

// What one message is replaced by when it is replayed.
struct Replacement {
  std::string body;
  std::optional<std::string> headers;  // encoded; none = as they are
  amqp::MessagePtr original;           // only what is the same is replaced; none = any
};

// Whether two messages have the same body and headers; what the broker counts is ignored.
bool IsSame(const amqp::Message& a, const amqp::Message& b);

// The message with body and headers of the replacement; else as it came, its delivery tag included.
amqp::MessagePtr Replaced(const amqp::Message& message, const Replacement& replacement);

// A message as a text to edit: its visible headers as JSON, a line, and its body. kInvalidArgument
// for a body that is no text, with the remedy.
absl::StatusOr<std::string> EditText(const amqp::Message& message);

// What was made of that text. Headers whose JSON was not changed keep their bytes; new ones get
// their type from their JSON value; x-retry-* and what the broker adds stay as they are.
// kInvalidArgument for a text of another shape, and for headers that AMQP cannot carry.
absl::StatusOr<Replacement> ReadEdited(amqp::MessagePtr original, std::string_view text);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PARKED_REPLACEMENT_H_
