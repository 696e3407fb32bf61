#ifndef RETRYQ_CLI_MESSAGES_MESSAGE_PAST_H_
#define RETRYQ_CLI_MESSAGES_MESSAGE_PAST_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/time/time.h"
#include "retryq/amqp/message.h"

namespace retryq::cli {

// What a parked or waiting message states about its past. Anyone can send such headers, another
// system may have parked it, and an application may have x-retry-… headers of its own (see
// Headers): what is missing, of a wrong type, or longer than AMQP allows is absent. Views into the
// message.
struct MessagePast {
  explicit MessagePast(const amqp::Message& message);

  std::optional<std::string_view> retry_id;  // x-retry-id
  std::optional<std::string_view> id;        // that, message-id or correlation-id
  std::optional<std::uint64_t> attempts;     // calls of the handler, all in vain
  std::optional<absl::Time> first_failure;
  std::optional<absl::Time> parked;          // absent where an older retryq has parked it
  std::optional<absl::Time> edited;          // by an operator, the last time
  std::optional<absl::Time> due;             // when its delay is over
  std::optional<std::string_view> error;     // the last one
  std::optional<std::string_view> queue;     // where it failed
  std::optional<std::string_view> exchange;  // where it was first published, and with which key
  std::optional<std::string_view> routing_key;

  // Whether retryq states that it parked it: what is in the queue by mistake does not.
  bool is_parked() const { return parked && queue; }

  // How often a quorum queue has taken it back; 0 where nobody counts. The count of a message that
  // was not delivered before came with it and says nothing.
  std::int64_t returns = 0;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MESSAGES_MESSAGE_PAST_H_
