#ifndef RETRYQ_CLI_PARKED_REPLACEMENT_H_
#define RETRYQ_CLI_PARKED_REPLACEMENT_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "retryq/amqp/message.h"

namespace retryq::cli {

// The replacement of one message in a replay.
struct Replacement {
  std::string body;
  std::optional<std::string> headers;  // encoded; not set: unchanged
  amqp::MessagePtr original;           // must be unchanged; null: not checked
};

// Returns whether two messages have the same body and headers. Ignores the counts of the broker.
bool IsSame(const amqp::Message& a, const amqp::Message& b);

// Returns the message with the body and headers of the replacement. The rest, including the
// delivery tag, is unchanged.
amqp::MessagePtr Replaced(const amqp::Message& message, const Replacement& replacement);

// Returns a message as a text to edit: its visible headers as JSON, a separator line and its body.
// Returns kInvalidArgument, with the remedy, if the body is not text.
absl::StatusOr<std::string> EditText(const amqp::Message& message);

// Parses the edited text. Headers whose JSON is unchanged keep their bytes; the JSON value of a new
// header determines its type. x-retry-* headers and those of the broker are kept. Returns
// kInvalidArgument for a text of another format and for headers that AMQP cannot carry.
absl::StatusOr<Replacement> ReadEdited(amqp::MessagePtr original, std::string_view text);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PARKED_REPLACEMENT_H_
