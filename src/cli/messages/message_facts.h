#ifndef RETRYQ_CLI_MESSAGES_MESSAGE_FACTS_H_
#define RETRYQ_CLI_MESSAGES_MESSAGE_FACTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "retryq/amqp/message.h"
#include "retryq/amqp/properties.h"

namespace retryq::cli {

// The retry headers of a parked or waiting message. Anyone can publish these headers, another
// system may have parked the message, and an application may use x-retry-… headers itself (see
// Headers). So a header that is missing, of a wrong type or too long for AMQP counts as absent. The
// fields are views into the message.
struct RetryFacts {
  explicit RetryFacts(const amqp::Message& message);

  std::optional<std::string_view> retry_id;  // x-retry-id
  std::optional<std::string_view> id;        // x-retry-id, message-id or correlation-id
  std::optional<std::uint64_t> attempt;      // number of failed calls of the handler
  std::optional<absl::Time> first_failure;
  std::optional<absl::Time> parked;          // absent if an older retryq has parked it
  std::optional<absl::Time> edited;          // last edit by an operator
  std::optional<absl::Time> due;             // end of its delay
  std::optional<std::string_view> error;     // the last error
  std::optional<std::string_view> queue;     // queue in which it failed
  std::optional<std::string_view> exchange;  // target of its first publish
  std::optional<std::string_view> routing_key;

  // Whether retryq parked the message. Messages that are in the parked queue by mistake lack these
  // headers.
  bool is_parked() const { return parked && queue; }

  // How often a quorum queue has requeued it; 0 if it is not counted. The count of a message that
  // was not delivered before was set by its publisher and is ignored.
  std::int64_t returns = 0;
};

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
