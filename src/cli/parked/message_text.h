#ifndef RETRYQ_CLI_PARKED_MESSAGE_TEXT_H_
#define RETRYQ_CLI_PARKED_MESSAGE_TEXT_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "cli/parked/parked_options.h"
#include "retryq/amqp/message.h"

namespace retryq::cli {

// A parked message for people: its past, its properties, its other headers, where it was
// dead-lettered, its body. Safe for a
// terminal except BodyFormat::kRaw, which is the body's bytes alone. kInvalidArgument for a body
// that is no JSON where it has to be.
absl::StatusOr<std::string> MessageText(const amqp::Message& message, BodyFormat body);

// The same as one JSON object: what `list` says, "properties", "headers", "x_death" where it has
// that header, and "body", or "body_base64" where it is not UTF-8.
std::string MessageJson(const amqp::Message& message);

// Offset, bytes, and what of them is ASCII, 16 a line.
std::string HexDump(std::string_view bytes);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PARKED_MESSAGE_TEXT_H_
