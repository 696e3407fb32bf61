#ifndef RETRYQ_AMQP_MESSAGE_H_
#define RETRYQ_AMQP_MESSAGE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "retryq/amqp/properties.h"

namespace retryq::amqp {

// Identifies one delivery to the broker. The generation distinguishes tags of an earlier connection
// or channel: acks with such tags are dropped, because the broker has already requeued the
// messages.
struct DeliveryTag {
  std::uint64_t generation = 0;  // of the channel that delivered it, never reused
  std::uint64_t tag = 0;         // the broker's number on that channel, from 1
  friend bool operator==(const DeliveryTag&, const DeliveryTag&) = default;
};

// A message as the broker delivered it. Immutable; the views point into storage that lives as long
// as the object. Shared as `MessagePtr`. Thread-safe for reading.
struct Message {
  DeliveryTag delivery_tag;
  bool redelivered = false;

  // Storage that the views may point into. A received message keeps its names, its content header
  // and a small body in other memory, which lives as long as the object.
  std::string storage;  // exchange, routing key and content header: see `SetHead`
  std::string content;  // a body

  std::string_view exchange;
  std::string_view routing_key;
  std::string_view header;  // the content header's payload: class, weight, body size, properties
  Properties properties;
  std::string_view body;

  // Above 0: the size of a body that is larger than ConsumeParams::max_body, or than the available
  // memory. That body was read but not kept: `body` is empty.
  std::uint64_t left_out = 0;

  // The result if the body was forwarded as it arrived (SubscriptionListener::PassOn). True: the
  // broker has confirmed the copy, and not returned it.
  bool passed_on = false;
  // The reason why the body was not forwarded; empty if forwarding was not attempted.
  std::string not_passed_on;
  // The broker refused the copy, and would refuse it again.
  bool refused = false;

  // Assigns `storage`, with the views into it.
  void SetHead(std::string_view new_exchange, std::string_view new_routing_key,
               std::string_view new_header) {
    storage.assign(new_exchange).append(new_routing_key).append(new_header);
    exchange = std::string_view(storage).substr(0, new_exchange.size());
    routing_key = std::string_view(storage).substr(new_exchange.size(), new_routing_key.size());
    header = std::string_view(storage).substr(new_exchange.size() + new_routing_key.size());
  }

  Message() = default;
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;
};

using MessagePtr = std::shared_ptr<const Message>;

}  // namespace retryq::amqp

#endif  // RETRYQ_AMQP_MESSAGE_H_
