#ifndef RETRYQ_CLI_MESSAGES_MESSAGE_FILTER_H_
#define RETRYQ_CLI_MESSAGES_MESSAGE_FILTER_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "retryq/amqp/message.h"

namespace retryq::cli {

// Which messages are meant: those for which all that is set holds.
struct MessageFilter {
  std::vector<std::string> ids;      // its x-retry-id or message-id, or correlation-id
  std::optional<std::string> error;  // its last error contains this, in upper or lower case
  // Since it was parked, or where it does not say when that was, since its first failure. A message
  // that says neither is neither older nor newer.
  std::optional<absl::Duration> older_than;
  std::optional<absl::Duration> newer_than;
  // Headers with their values: texts, whole numbers in decimal, true and false.
  std::vector<std::pair<std::string, std::string>> headers;

  bool Matches(const amqp::Message& message, absl::Time now) const;

  // Whether nothing is set, so that it matches all there is.
  bool empty() const {
    return ids.empty() && !error && !older_than && !newer_than && headers.empty();
  }
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MESSAGES_MESSAGE_FILTER_H_
