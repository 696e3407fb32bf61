#ifndef RETRYQ_OUTGOING_MESSAGE_H_
#define RETRYQ_OUTGOING_MESSAGE_H_

#include <string>

#include "retryq/amqp/table.h"

namespace retryq {

// A message to publish, now or later. Owns what it names.
struct OutgoingMessage {
  std::string exchange = {};  // "" is the default exchange: the routing key names a queue
  std::string routing_key = {};
  std::string body = {};
  std::string content_type = {};  // none if empty
  std::string message_id = {};    // none if empty
  amqp::Table headers = {};
};

}  // namespace retryq

#endif  // RETRYQ_OUTGOING_MESSAGE_H_
