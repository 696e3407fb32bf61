#ifndef RETRYQ_SRC_RETRY_DELIVERY_TIMED_OUT_H_
#define RETRYQ_SRC_RETRY_DELIVERY_TIMED_OUT_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>

#include "retryq/amqp/message.h"

namespace retryq {

// The messages whose handler exceeded the broker's consumer timeout. From 4.3 on the broker does
// not count that as a failure (F42 in doc/rabbitmq_facts.md): like every requeue, it only increases
// `x-acquired-count` by one. The consumer therefore remembers the message until it is delivered
// again.
//
// A message is recognized by its id and its content, because nothing else identifies it in a later
// delivery. The later delivery must have been returned uncounted since, or be a later copy of the
// message with that id. Beyond kMost messages, the oldest are forgotten.
class TimedOut {
 public:
  static constexpr std::size_t kMost = 4096;

  // The handler of `message` did not settle it in time.
  void Remember(const amqp::Message& message);

  // Returns how often `message` was not settled in time here and not counted yet. Forgets it.
  std::uint64_t Take(const amqp::Message& message);

  // The opposite case: the broker has closed the connection because it failed on a message (F73).
  // The broker counts the closed connection as a failure of every other delivery to this consumer,
  // including those that have not arrived. `ignored_failures` is the number of counted failures
  // that may be due to that.
  void IgnoreFailure() { ++ignored_failures_; }
  std::uint64_t ignored_failures() const { return ignored_failures_; }

  std::size_t size() const { return known_.size(); }

 private:
  struct Known {
    std::int64_t failures = 0;   // in the headers of its copy
    std::int64_t uncounted = 0;  // uncounted returns of that copy, before the last timeout
    std::uint64_t times = 0;
  };

  std::unordered_map<std::uint64_t, Known> known_;  // by hash of the content
  std::deque<std::uint64_t> order_;                 // oldest first
  std::uint64_t ignored_failures_ = 0;
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_DELIVERY_TIMED_OUT_H_
