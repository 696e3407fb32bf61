#ifndef RETRYQ_CLI_SEND_LINE_REQUEST_H_
#define RETRYQ_CLI_SEND_LINE_REQUEST_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "retryq/outgoing_message.h"

namespace retryq::cli {

// The protocol of `send --lines`: one JSON object per line in each direction.

// The longest line: the base64 of the largest message that RabbitMQ accepts by default.
inline constexpr std::size_t kLongestRequest = std::size_t{192} << 20;

// A message to publish.
struct LineRequest {
  std::string id = "null";  // as JSON, for the result
  OutgoingMessage message;
  PublishOptions publish;
};

// Parses a line, without its line break, as `retryq send --help` describes it. `request` contains
// the defaults of fields that are missing or null. Returns kInvalidArgument with the reason for any
// other line, unknown fields included; sets the id if there is one.
absl::Status ParseRequest(std::string_view line, LineRequest* request);

// The result of the request with this id, with the line break: {"id":…,"ok":true} or
// {"id":…,"error":"…"}.
std::string AnswerLine(std::string_view id, const absl::Status& status);

// Parses a time in RFC 3339, such as 2027-01-31T08:00:00Z, or whole seconds since 1970.
std::optional<absl::Time> ParseTimestamp(std::string_view text);

// Parses a duration, such as 30s, or milliseconds as in AMQP, such as 30000.
std::optional<absl::Duration> ParseExpiration(std::string_view text);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_SEND_LINE_REQUEST_H_
