#ifndef RETRYQ_SRC_RETRY_DELIVERY_DEATHS_H_
#define RETRYQ_SRC_RETRY_DELIVERY_DEATHS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "retryq/amqp/message.h"

namespace retryq {

// One entry of `x-death`: a queue that has dead-lettered the message, and why. RabbitMQ merges all
// such events of one queue and reason into one entry.
struct Death {
  std::string queue;
  std::string reason;      // "expired", "rejected", "maxlen", "delivery_limit"
  std::int64_t count = 0;  // how often; 0 where the entry does not say
};

// The entries of `x-death`, the newest first. Anyone can send such a header: what is none of its
// shape is passed over.
std::vector<Death> ReadDeaths(const amqp::Message& message);

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_DELIVERY_DEATHS_H_
