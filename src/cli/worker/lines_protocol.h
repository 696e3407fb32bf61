#ifndef RETRYQ_CLI_WORKER_LINES_PROTOCOL_H_
#define RETRYQ_CLI_WORKER_LINES_PROTOCOL_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "retryq/delivery.h"
#include "retryq/outcome.h"

namespace retryq::cli {

// What `work --lines` and its children say to each other: one JSON object a line each way.

// No answer is longer, so that a child that writes on and on fills no memory.
inline constexpr std::size_t kLongestAnswer = std::size_t{1} << 20;

// A message for a child, with the line break:
//
//   {"id":7,"attempt":0,"max_attempts":25,"last_error":"","retry_id":"…","queue":"orders",
//    "exchange":"","routing_key":"orders","message_id":"…","correlation_id":"…",
//    "content_type":"…","content_encoding":"","reply_to":"","type":"","app_id":"","expiration":"",
//    "priority":null,"timestamp":null,"redelivered":false,"traceparent":"","tracestate":"",
//    "headers":{…},"body":"…"}
//
// All of them always, texts empty and numbers null where the message has no such property, except
// the body: where it is not UTF-8, "body_base64" is there instead. `id` is what the answer has to
// say; headers are those of HeadersJson, up to a mebibyte.
std::string LineFor(std::uint64_t id, const Delivery& delivery, std::uint64_t max_attempts);

// What a child has answered.
struct LinesAnswer {
  std::uint64_t id = 0;
  Outcome outcome = Outcome::Ok();
  std::string ignored = {};  // a field that is none of those below; empty: there is none
};

// Of `LinesAnswer::ignored`.
std::string IgnoredFieldWarning(std::string_view field);

// Reads a line, without its line break:
//
//   {"id":7,"ok":true}                           done
//   {"id":7,"error":"busy"}                      retried as the policy says
//   {"id":7,"error":"busy","retry_after":"30s"}  retried after that; a number is seconds
//   {"id":7,"park":"no such customer"}           parked for that reason
//   {"id":7,"discard":"too late"}                acked and gone, for that reason
//   {"id":7,"snooze":"30s"}                      comes back after that, and has not failed;
//   "reason"
//                                                may say why
//
// Other fields are ignored. kInvalidArgument, with what is wrong, for all else.
absl::StatusOr<LinesAnswer> ParseAnswer(std::string_view line);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_LINES_PROTOCOL_H_
