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
#include "retryq/broker.h"
#include "retryq/testing/simulated_rabbitmq.h"
#include "retryq/timers.h"
#include "testing/simulated_content.h"

namespace retryq::testing {

// A message as a queue holds it.
struct Stored {
  ContentPtr content;
  absl::Time deadline = absl::InfiniteFuture();  // by the broker's wall clock
  absl::Duration on_disk_at;                     // since boot; a crash before may take it
  bool unconfirmed = false;                      // nobody was promised that it is on disk
  bool redelivered = false;
  std::int64_t returns = 0;   // to a quorum queue, that count
  std::int64_t acquired = 0;  // to one of 4.3 or newer: all returns
};

// The place of a message in its queue: what comes back goes to where it was.
using Place = std::uint64_t;

// A queue and what it holds: its arguments, read, and its messages. What becomes of them, and
// when, is up to the Node.
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
  std::vector<std::uint64_t> consumers;  // channels, the next one first

  absl::Duration made_at;
  absl::Duration lease_end = absl::InfiniteDuration();  // since boot
  absl::Duration leader_from = -absl::InfiniteDuration();

  // Its end, which takes a moment: until then it answers, and loses what it is given.
  struct Going {
    LetGo::Cause cause;
    absl::Duration until;
  };
  std::optional<Going> going;
  bool has_deceived = false;  // answered a declare at its end

  std::unique_ptr<Timer> timer;  // for what is due next
};

// `x-consumer-timeout` of a consumer.
std::optional<absl::Duration> ConsumerTimeoutIn(const amqp::Table& arguments);

// The message after its queue's TTL and its own `expiration`, whichever is less.
absl::Time DeadlineOf(const Content& content, const Queue& queue, absl::Time now);

}  // namespace retryq::testing

#endif  // RETRYQ_SRC_TESTING_SIMULATED_QUEUE_H_
