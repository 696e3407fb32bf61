#ifndef RETRYQ_CLI_PARKED_PARKED_SHOW_H_
#define RETRYQ_CLI_PARKED_PARKED_SHOW_H_

#include "absl/status/statusor.h"
#include "cli/messages/message_pass.h"
#include "cli/parked/parked_options.h"
#include "retryq/amqp/message.h"

namespace retryq::cli {

// The first parked message that matches; it stays in the queue. kNotFound where there is none.
absl::StatusOr<amqp::MessagePtr> FindParked(const ParkedOptions& options);

// The same, whole, as text or JSON.
MessagesResult ShowParked(const ParkedOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PARKED_PARKED_SHOW_H_
