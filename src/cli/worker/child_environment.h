#ifndef RETRYQ_CLI_WORKER_CHILD_ENVIRONMENT_H_
#define RETRYQ_CLI_WORKER_CHILD_ENVIRONMENT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "retryq/delivery.h"

namespace retryq::cli {

// The longest value of a variable, so that no message makes exec fail with E2BIG: Linux limits one
// variable to 128 KiB and all of them usually to 2 MiB.
inline constexpr std::size_t kMaxVariable = std::size_t{64} * 1024;

// Removes RETRYQ_URL and RETRYQ_MANAGEMENT_URL, which contain the broker's password, from the
// environment of this process. No other thread may be running.
void ForgetUrls();

// This process's environment, as NAME=VALUE.
std::vector<std::string> InheritedEnvironment();

// The message data for a child's environment. The views need to be valid during the call only.
struct MessageFacts {
  const Delivery& delivery;
  std::string_view id;             // RETRYQ_ID
  std::uint64_t failures = 0;      // RETRYQ_ATTEMPT
  std::string_view last_error;     // RETRYQ_LAST_ERROR
  std::uint64_t max_attempts = 0;  // RETRYQ_MAX_ATTEMPTS, 0 = unlimited
};

// This process's environment plus the variables of one message. All of them are always set; a
// variable is empty if the message does not have the property:
//
//   RETRYQ_ATTEMPT, RETRYQ_MAX_ATTEMPTS, RETRYQ_LAST_ERROR, RETRYQ_ID, RETRYQ_QUEUE,
//   RETRYQ_EXCHANGE, RETRYQ_ROUTING_KEY, RETRYQ_MESSAGE_ID, RETRYQ_CORRELATION_ID,
//   RETRYQ_CONTENT_TYPE, RETRYQ_CONTENT_ENCODING, RETRYQ_REPLY_TO, RETRYQ_TYPE, RETRYQ_APP_ID,
//   RETRYQ_PRIORITY, RETRYQ_TIMESTAMP (seconds since 1970), RETRYQ_EXPIRATION (milliseconds),
//   RETRYQ_REDELIVERED (true or false), RETRYQ_HEADERS as HeadersJson writes it, and TRACEPARENT
//   and TRACESTATE from the headers of the same names (W3C Trace Context)
//
// A NUL byte, which a variable cannot contain, becomes U+FFFD.
std::vector<std::string> ChildEnvironment(const MessageFacts& message);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_CHILD_ENVIRONMENT_H_
