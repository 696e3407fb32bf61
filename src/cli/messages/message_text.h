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

// The format of a body.
enum class BodyFormat {
  kAuto,  // JSON or text if possible, otherwise hex
  kText,
  kJson,
  kHex,
  kRaw,  // only the bytes of the body
};

// Additional names and values to show.
using MoreLines = std::vector<std::pair<std::string, std::string>>;

// A message as text: its retry headers, the lines of `more`, its properties, its other headers, its
// x-death header and its body. Safe for a terminal except BodyFormat::kRaw, which is only the bytes
// of the body. Returns kInvalidArgument for BodyFormat::kJson if the body is not JSON.
absl::StatusOr<std::string> MessageText(const amqp::Message& message, BodyFormat body,
                                        const MoreLines& more = {});

// The message as one JSON object: the fields of its row in `list`, "properties", "headers",
// "x_death" if it has that header, and "body", or "body_base64" if the body is not UTF-8.
std::string MessageJson(const amqp::Message& message, nlohmann::ordered_json row);

// The headers that `show` prints, as one JSON object on one line, without those of retrying and of
// the broker.
std::string VisibleHeaders(const amqp::Message& message);

// Offset, bytes and their ASCII characters, 16 bytes per line.
std::string HexDump(std::string_view bytes);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MESSAGES_MESSAGE_TEXT_H_
