#ifndef RETRYQ_SRC_RETRY_DELIVERY_TIMED_OUT_H_
#define RETRYQ_SRC_RETRY_DELIVERY_TIMED_OUT_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>

#include "retryq/amqp/message.h"

namespace retryq {

// The messages whose handler exceeded the broker's consumer timeout. From 4.3 on the broker does
// not count that (F42 in doc/rabbitmq_facts.md): `x-acquired-count` grows by one, as it does for
// every message that is given back. So the consumer that had the message remembers it until the
// message comes again.
//
// A message is recognized by its id and its content, as no other name of it outlives a delivery,
// and only if it has been returned uncounted since, or is a later copy of the one with that id. Of
// more than kMost the oldest are forgotten.
class TimedOut {
 public:
  static constexpr std::size_t kMost = 4096;

  // The handler of `message` did not settle it in time.
  void Remember(const amqp::Message& message);

  // How often `message` was not settled in time here, and that is not counted yet. Forgets it.
  std::uint64_t Take(const amqp::Message& message);

  // The opposite: the broker has closed the connection as it failed on a message (F73), and counts
  // every other delivery of this consumer as failed once, also one that has not arrived. Returns
  // how many of the failures that it counts may be due to that.
  void Forgive() { ++forgiven_; }
  std::uint64_t forgiven() const { return forgiven_; }

  std::size_t size() const { return known_.size(); }

 private:
  struct Known {
    std::int64_t failures = 0;   // that its copy knew of
    std::int64_t uncounted = 0;  // returns of that copy, before the last time
    std::uint64_t times = 0;
  };

  std::unordered_map<std::uint64_t, Known> known_;  // by content
  std::deque<std::uint64_t> order_;                 // the oldest first
  std::uint64_t forgiven_ = 0;
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_DELIVERY_TIMED_OUT_H_
