#ifndef RETRYQ_SRC_TESTING_SIMULATED_QUEUE_H_
#define RETRYQ_SRC_TESTING_SIMULATED_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "retryq/broker/broker.h"
#include "retryq/broker/timers.h"
#include "retryq/testing/simulated_rabbitmq.h"
#include "testing/simulated_content.h"

namespace retryq::testing {

// A message in a queue.
struct Stored {
  ContentPtr content;
  absl::Time deadline = absl::InfiniteFuture();  // by the broker's wall clock
  absl::Duration on_disk_at;                     // since boot; an earlier crash may lose it
  bool unconfirmed = false;                      // its publisher has no confirm that it is on disk
  bool redelivered = false;
  std::int64_t returns = 0;   // returns that a quorum queue counts
  std::int64_t acquired = 0;  // all returns to a quorum queue of 4.3 or newer
};

// The position of a message in its queue: a returned message gets its old position.
using Place = std::uint64_t;

// A queue: its parsed arguments and its messages. The Node decides what happens to them, and when.
struct Queue {
  explicit Queue(const QueueDeclaration& declaration);

  bool quorum() const { return type == "quorum"; }
  bool consumed() const { return !consumers.empty(); }

  // As declared.
  std::string name;
  bool durable;
  amqp::Table arguments;
  std::string type = "classic";
  std::optional<absl::Duration> message_ttl;
  std::optional<absl::Duration> expires;
  std::optional<std::string> dead_letter_exchange;
  std::optional<std::string> dead_letter_routing_key;
  bool at_least_once = false;
  bool reject_publish = false;
  std::optional<std::int64_t> max_length;
  std::optional<std::int64_t> delivery_limit;

  std::map<Place, Stored> ready;
  std::map<Place, Stored> leaving;  // dead-lettered at least once, until the other queue has it
  std::size_t unacked = 0;          // with consumers
  Place last_place = 0;
  std::vector<std::uint64_t> consumers;  // channels; the first one is served next

  absl::Duration made_at;
  absl::Duration lease_end = absl::InfiniteDuration();  // since boot
  absl::Duration leader_from = -absl::InfiniteDuration();

  // The deletion of the queue, which takes a moment. Until it is over, the queue answers, and loses
  // the messages that it gets.
  struct Going {
    LetGo::Cause cause;
    absl::Duration until;
  };
  std::optional<Going> going;
  bool has_deceived = false;  // has answered a declare while it was being deleted

  std::unique_ptr<Timer> timer;  // for the next event
};

// `x-queue-type` of a queue.
std::string QueueTypeIn(const amqp::Table& arguments);
// `x-consumer-timeout` of a consumer.
std::optional<absl::Duration> ConsumerTimeoutIn(const amqp::Table& arguments);

// Returns when the message expires: its queue's TTL or its own `expiration`, whichever is less.
absl::Time DeadlineOf(const Content& content, const Queue& queue, absl::Time now);

}  // namespace retryq::testing

#endif  // RETRYQ_SRC_TESTING_SIMULATED_QUEUE_H_
