#ifndef RETRYQ_SRC_RETRY_CLIENT_CLIENT_VALIDATION_H_
#define RETRYQ_SRC_RETRY_CLIENT_CLIENT_VALIDATION_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "retryq/amqp/connection_options.h"
#include "retryq/client.h"
#include "retryq/consumer.h"
#include "retryq/outgoing_message.h"
#include "retryq/work_queue.h"

namespace retryq {

// Arguments of a consumer for which there are separate options.
inline constexpr char kPriorityArgument[] = "x-priority";
inline constexpr char kTimeoutArgument[] = "x-consumer-timeout";

// Returns the current connection options: calls the sources in the client's options.
absl::StatusOr<amqp::ConnectionOptions> ConnectionOf(const ClientOptions& options);

// Return kInvalidArgument naming all invalid fields.
absl::Status ValidateClient(const ClientOptions& options, absl::Duration heartbeat);
absl::Status ValidateConsumer(const ConsumerOptions& options);
// Refuses a message that would close the connection, which would delay other publishes.
absl::Status ValidateMessage(const OutgoingMessage& message);

// Returns the declaration for a consumer, with its queue's name.
WorkQueue Named(WorkQueue work_queue, const std::string& queue);

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_CLIENT_CLIENT_VALIDATION_H_
