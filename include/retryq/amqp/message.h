#ifndef RETRYQ_AMQP_MESSAGE_H_
#define RETRYQ_AMQP_MESSAGE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "retryq/amqp/properties.h"

namespace retryq::amqp {

// Names one delivery towards the broker. Tags of an earlier connection or
// channel are told apart by the generation: acks of those are dropped, as the
// broker has requeued the messages already.
struct DeliveryTag {
  std::uint64_t generation = 0;  // of the channel that delivered it, never reused
  std::uint64_t tag = 0;         // the broker's number on that channel, from 1
  friend bool operator==(const DeliveryTag&, const DeliveryTag&) = default;
};

// A message as the broker delivered it. Immutable; the views point into
// storage that lives as long as the object. Shared as `MessagePtr`.
// Thread-safe for reading from any thread.
struct Message {
  DeliveryTag delivery_tag;
  bool redelivered = false;

  // What the views point into.
  std::string envelope;  // exchange and routing key
  std::string header;    // the content header's payload: class, weight, body size, properties
  std::string content;   // the body

  std::string_view exchange;
  std::string_view routing_key;
  Properties properties;
  std::string_view body;

  // Above 0: the size of a body that is larger than ConsumeParams::max_body, or than the memory
  // that there is. It was read and left out: `body` is empty.
  std::uint64_t left_out = 0;

  // How that ended where the body was passed on as it arrived (SubscriptionListener::PassOn). True:
  // the broker has confirmed the copy, and not returned it.
  bool passed_on = false;
  // Else why not; empty if there was no attempt.
  std::string not_passed_on;
  // The broker refused the copy, as it would again.
  bool refused = false;

  void SetEnvelope(std::string_view new_exchange, std::string_view new_routing_key) {
    envelope.assign(new_exchange).append(new_routing_key);
    exchange = std::string_view(envelope).substr(0, new_exchange.size());
    routing_key = std::string_view(envelope).substr(new_exchange.size());
  }

  Message() = default;
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;
};

using MessagePtr = std::shared_ptr<const Message>;

}  // namespace retryq::amqp

#endif  // RETRYQ_AMQP_MESSAGE_H_
