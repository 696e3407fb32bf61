#ifndef RETRYQ_CLI_PARKED_PARKED_COPY_H_
#define RETRYQ_CLI_PARKED_PARKED_COPY_H_

#include <string>

#include "retryq/amqp/message.h"
#include "retryq/amqp/properties.h"

namespace retryq::cli {

// Properties and headers of a parked message that is published again: as they came, byte for byte,
// but persistent and without what the broker would refuse (user-id, a reply-to of
// amq.rabbitmq.reply-to), route by (CC, BCC) or has counted itself (x-delivery-count,
// x-acquired-count). The body is the message's own. Must not outlive the message.
class ParkedCopy {
 public:
  enum class Purpose {
    kReplay,  // also without expiration, x-death and its kin, and x-retry-* but x-retry-id
    kMove,    // to another place in the same queue: it stays the parked message that it was
  };

  ParkedCopy(const amqp::Message& message, Purpose purpose);
  ParkedCopy(const ParkedCopy&) = delete;
  ParkedCopy& operator=(const ParkedCopy&) = delete;

  const amqp::Properties& properties() const { return properties_; }

 private:
  amqp::Properties properties_;
  std::string headers_;  // what properties_.headers points into
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PARKED_PARKED_COPY_H_
