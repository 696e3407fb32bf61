#ifndef RETRYQ_SRC_AMQP_CHANNEL_REPLY_STATUS_H_
#define RETRYQ_SRC_AMQP_CHANNEL_REPLY_STATUS_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"

namespace retryq::amqp {

// Converts a channel.close: 403 kPermissionDenied, 404 kNotFound, 405 kAborted, 406
// kFailedPrecondition or, if a limit of queues or exchanges is reached, kResourceExhausted, 501 and
// 502 kInvalidArgument, else kUnavailable. The message is the code and the broker's text.
absl::Status ChannelCloseStatus(std::uint16_t code, std::string_view text);

// Whether RabbitMQ 4 closes the connection with this code instead of refusing a request with these
// names, because the names make its reply longer than 255 bytes and are not ASCII (F75 in
// doc/rabbitmq_facts_operations.md).
bool HidesRefusal(std::uint16_t code, std::string_view names);

// Returns `status` with the operation before its message: "declaring queue 'q': 404 …".
absl::Status WithContext(std::string_view context, const absl::Status& status);

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_CHANNEL_REPLY_STATUS_H_
