#ifndef RETRYQ_EXAMPLES_RABBITMQ_C_BROKER_CONTENT_H_
#define RETRYQ_EXAMPLES_RABBITMQ_C_BROKER_CONTENT_H_

#include <amqp.h>
#include <amqp_framing.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "retryq/amqp/message.h"
#include "retryq/amqp/properties.h"

namespace examples {

// The properties in their encoded form. kInvalidArgument where rabbitmq-c cannot encode them in
// `max_size` bytes, or cannot read the headers.
absl::StatusOr<std::string> EncodeProperties(const retryq::amqp::Properties& properties,
                                             std::size_t max_size);

// The message that comes behind a basic.deliver or basic.return, put together from its frames. What
// it keeps it has copied: frames may be released.
class IncomingContent {
 public:
  // Begins with an empty message, in which the envelope is to be set.
  retryq::amqp::Message& Begin();

  // Takes a header or body frame. The message once it is whole, else null.
  std::shared_ptr<retryq::amqp::Message> Add(const amqp_frame_t& frame);

 private:
  std::shared_ptr<retryq::amqp::Message> message_;
  std::uint64_t body_size_ = 0;
};

}  // namespace examples

#endif  // RETRYQ_EXAMPLES_RABBITMQ_C_BROKER_CONTENT_H_
