#ifndef RETRYQ_CLI_MESSAGES_MESSAGE_TEXT_H_
#define RETRYQ_CLI_MESSAGES_MESSAGE_TEXT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "retryq/amqp/message.h"

namespace retryq::cli {

// How to show a body.
enum class BodyFormat {
  kAuto,  // as JSON or text if it is such, else in hex
  kText,
  kJson,
  kHex,
  kRaw,  // its bytes, and nothing else
};

// Names and values to show besides.
using MoreLines = std::vector<std::pair<std::string, std::string>>;

// A message for people: its past, what `more` says, its properties, its other headers, where it was
// dead-lettered, its body. Safe for a terminal except BodyFormat::kRaw, which is the body's bytes
// alone. kInvalidArgument for a body that is no JSON where it has to be.
absl::StatusOr<std::string> MessageText(const amqp::Message& message, BodyFormat body,
                                        const MoreLines& more = {});

// The same as one JSON object: what `list` tells programs, "properties", "headers", "x_death" where
// it has that header, and "body", or "body_base64" where it is not UTF-8.
std::string MessageJson(const amqp::Message& message, nlohmann::ordered_json row);

// The headers that `show` shows, as an object on one line; those of retrying and of the broker are
// left out.
std::string VisibleHeaders(const amqp::Message& message);

// Offset, bytes, and what of them is ASCII, 16 a line.
std::string HexDump(std::string_view bytes);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MESSAGES_MESSAGE_TEXT_H_
