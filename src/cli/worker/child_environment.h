#ifndef RETRYQ_CLI_WORKER_CHILD_ENVIRONMENT_H_
#define RETRYQ_CLI_WORKER_CHILD_ENVIRONMENT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "retryq/delivery.h"

namespace retryq::cli {

// No variable is longer, so that no message can make exec fail with E2BIG: Linux takes 128 KiB for
// one variable and 2 MiB, as a rule, for all.
inline constexpr std::size_t kMaxVariable = std::size_t{64} * 1024;

// Takes out of this process's environment what has the broker's password, RETRYQ_URL and
// RETRYQ_MANAGEMENT_URL. There must be no other thread.
void ForgetUrls();

// This process's environment, as NAME=VALUE.
std::vector<std::string> InheritedEnvironment();

// What a child is told about its message. The views must outlive the call only.
struct MessageFacts {
  const Delivery& delivery;
  std::string_view id;             // RETRYQ_ID
  std::uint64_t failures = 0;      // RETRYQ_ATTEMPT
  std::string_view last_error;     // RETRYQ_LAST_ERROR
  std::uint64_t max_attempts = 0;  // RETRYQ_MAX_ATTEMPTS, 0 = no limit
};

// This process's environment with the variables of one message set, all of them always, empty where
// the message has no such property:
//
//   RETRYQ_ATTEMPT, RETRYQ_MAX_ATTEMPTS, RETRYQ_LAST_ERROR, RETRYQ_ID, RETRYQ_QUEUE,
//   RETRYQ_EXCHANGE, RETRYQ_ROUTING_KEY, RETRYQ_MESSAGE_ID, RETRYQ_CORRELATION_ID,
//   RETRYQ_CONTENT_TYPE, RETRYQ_CONTENT_ENCODING, RETRYQ_REPLY_TO, RETRYQ_TYPE, RETRYQ_APP_ID,
//   RETRYQ_PRIORITY, RETRYQ_TIMESTAMP (seconds since 1970), RETRYQ_EXPIRATION (milliseconds),
//   RETRYQ_REDELIVERED (true or false), RETRYQ_HEADERS as HeadersJson writes it; and TRACEPARENT
//   and TRACESTATE from the headers of that name, as W3C's trace context has them
//
// A NUL byte, which no variable can hold, becomes U+FFFD.
std::vector<std::string> ChildEnvironment(const MessageFacts& message);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_CHILD_ENVIRONMENT_H_
