#ifndef RETRYQ_CLI_SEND_LINE_REQUEST_H_
#define RETRYQ_CLI_SEND_LINE_REQUEST_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "retryq/outgoing_message.h"

namespace retryq::cli {

// What `send --lines` reads and writes: a JSON object a line each way.

// No line is longer: what the largest message that RabbitMQ takes by default needs in base64.
inline constexpr std::size_t kLongestRequest = std::size_t{192} << 20;

// A message to publish.
struct LineRequest {
  std::string id = "null";  // as JSON, for the answer
  OutgoingMessage message;
  PublishOptions publish;
};

// Reads a line, without its line break:
//
//   {"id":…,"queue":… | "exchange":…,"routing_key":…,"body":… | "body_base64":…,"headers":{…},
//    "delay":"1s" | "at":"<RFC 3339>","priority":…,"correlation_id":…,"reply_to":…,"type":…,
//    "app_id":…,"user_id":…,"message_id":…,"content_type":…,"content_encoding":…,
//    "expiration":…,"timestamp":…,"transient":…}
//
// `request` has the values of fields that are not given, or null. kInvalidArgument, with what is
// wrong, for all else, unknown fields included; the id is set where there is one.
absl::Status ParseRequest(std::string_view line, LineRequest* request);

// The answer to the request of this id, with the line break: {"id":…,"ok":true} or
// {"id":…,"error":"…"}.
std::string AnswerLine(std::string_view id, const absl::Status& status);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_SEND_LINE_REQUEST_H_
