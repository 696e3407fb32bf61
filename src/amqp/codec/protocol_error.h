#ifndef RETRYQ_SRC_AMQP_CODEC_PROTOCOL_ERROR_H_
#define RETRYQ_SRC_AMQP_CODEC_PROTOCOL_ERROR_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"

namespace retryq::amqp {

// The reply codes of connection.close, channel.close and basic.return.
// https://www.rabbitmq.com/amqp-0-9-1-reference#constants
enum class ReplyCode : std::uint16_t {
  kSuccess = 200,
  kContentTooLarge = 311,
  kNoRoute = 312,
  kNoConsumers = 313,
  kConnectionForced = 320,
  kInvalidPath = 402,
  kAccessRefused = 403,
  kNotFound = 404,
  kResourceLocked = 405,
  kPreconditionFailed = 406,
  kFrameError = 501,
  kSyntaxError = 502,
  kCommandInvalid = 503,
  kChannelError = 504,
  kUnexpectedFrame = 505,
  kResourceError = 506,
  kNotAllowed = 530,
  kNotImplemented = 540,
  kInternalError = 541,
};

// Whether an error with this code closes only its channel, not the connection.
bool EndsChannelOnly(ReplyCode code);

// Returns the error for data that violates the protocol; the connection or channel is closed with
// it: kInternal, with the message `text` and the code `code`. `text` states what is wrong with the
// frame; Session adds which frame it is.
absl::Status ProtocolError(ReplyCode code, std::string_view text);

// Returns the code of `status`; kInternalError if it is not a ProtocolError.
ReplyCode ReplyCodeOf(const absl::Status& status);

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_CODEC_PROTOCOL_ERROR_H_
