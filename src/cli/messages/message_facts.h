#ifndef RETRYQ_CLI_MESSAGES_MESSAGE_FACTS_H_
#define RETRYQ_CLI_MESSAGES_MESSAGE_FACTS_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "retry/delivery/message_history.h"
#include "retryq/amqp/message.h"
#include "retryq/amqp/properties.h"

namespace retryq::cli {

// The properties except the headers, by their AMQP names ("correlation-id") and in AMQP's order.
std::vector<std::pair<std::string, std::string>> PropertiesOf(const amqp::Properties& properties);

// Returns the property of this name, otherwise the header: a string unchanged, any other type as
// JSON. Returns nullopt if the message has neither.
std::optional<std::string> FieldNamed(const amqp::Message& message, const std::string& name);

// A filter for messages. A message must match all fields that are set.
struct MessageFilter {
  std::vector<std::string> ids;      // x-retry-id, message-id or correlation-id
  std::optional<std::string> error;  // the last error contains this text; case-insensitive
  // The time since the message was parked or, if it does not have that time, since its first
  // failure. A message with neither time does not match.
  std::optional<absl::Duration> older_than;
  std::optional<absl::Duration> newer_than;
  // Headers and their values: strings, decimal whole numbers, true and false.
  std::vector<std::pair<std::string, std::string>> headers;

  bool Matches(const amqp::Message& message, absl::Time now) const;

  // Whether nothing is set, so that all messages match.
  bool empty() const {
    return ids.empty() && !error && !older_than && !newer_than && headers.empty();
  }
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MESSAGES_MESSAGE_FACTS_H_
