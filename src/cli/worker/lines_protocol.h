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

// The protocol between `work --lines` and its children: one JSON object per line in each direction.

// The longest answer, so that a child that writes without line breaks does not fill the memory.
inline constexpr std::size_t kLongestAnswer = std::size_t{1} << 20;

// A message for a child, with the line break:
//
//   {"id":7,"attempt":0,"max_attempts":25,"last_error":"","retry_id":"…","queue":"orders",
//    "exchange":"","routing_key":"orders","message_id":"…","correlation_id":"…",
//    "content_type":"…","content_encoding":"","reply_to":"","type":"","app_id":"","expiration":"",
//    "priority":null,"timestamp":null,"redelivered":false,"traceparent":"","tracestate":"",
//    "headers":{…},"body":"…"}
//
// All fields are always present; if the message does not have a property, its text is empty or its
// number null. A body that is not UTF-8 is in "body_base64" instead of "body". The answer must
// contain `id`. `headers` is written by HeadersJson, up to a mebibyte.
std::string LineFor(std::uint64_t id, const Delivery& delivery, std::uint64_t max_attempts);

// The answer of a child.
struct LinesAnswer {
  std::uint64_t id = 0;
  Outcome outcome = Outcome::Ok();
  std::string ignored = {};  // an unknown field; empty: there is none
};

// The warning about a field in `LinesAnswer::ignored`.
std::string IgnoredFieldWarning(std::string_view field);

// Parses an answer, without its line break:
//
//   {"id":7,"ok":true}                           done
//   {"id":7,"error":"busy"}                      retried according to the policy
//   {"id":7,"error":"busy","retry_after":"30s"}  retried after this delay; numbers are seconds
//   {"id":7,"park":"no such customer"}           parked, with this reason
//   {"id":7,"discard":"too late"}                acked and dropped, with this reason
//   {"id":7,"snooze":"30s"}                      returns after this delay without a failure;
//                                                "reason" is optional
//
// Ignores other fields. Returns kInvalidArgument with the reason for any other line.
absl::StatusOr<LinesAnswer> ParseAnswer(std::string_view line);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_LINES_PROTOCOL_H_
