#ifndef RETRYQ_CLI_MESSAGES_MESSAGE_PAST_H_
#define RETRYQ_CLI_MESSAGES_MESSAGE_PAST_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/time/time.h"
#include "retryq/amqp/message.h"

namespace retryq::cli {

// The retry headers of a parked or waiting message. Anyone can publish these headers, another
// system may have parked the message, and an application may use x-retry-… headers itself (see
// Headers). So a header that is missing, of a wrong type or too long for AMQP counts as absent. The
// fields are views into the message.
struct MessagePast {
  explicit MessagePast(const amqp::Message& message);

  std::optional<std::string_view> retry_id;  // x-retry-id
  std::optional<std::string_view> id;        // x-retry-id, message-id or correlation-id
  std::optional<std::uint64_t> attempts;     // failed calls of the handler
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

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MESSAGES_MESSAGE_PAST_H_
