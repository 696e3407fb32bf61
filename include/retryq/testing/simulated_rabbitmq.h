#ifndef RETRYQ_TESTING_SIMULATED_RABBITMQ_H_
#define RETRYQ_TESTING_SIMULATED_RABBITMQ_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "retryq/amqp/message.h"
#include "retryq/amqp/properties.h"
#include "retryq/amqp/table.h"
#include "retryq/broker/random.h"
#include "retryq/duration.h"
#include "retryq/testing/simulated_time.h"

namespace retryq::testing {

class Node;

// A message that the broker lost, dropped or deleted without an ack.
struct LetGo {
  enum class Cause {
    kQueueExpired,     // deleted with its queue, whose lease was over (x-expires)
    kQueueDeleted,     // deleted with its queue, or published into it at that moment
    kPurged,           // its queue was purged
    kNoRoute,          // dead-lettered, but no queue takes it
    kNoLeader,         // dead-lettered from a classic queue to a quorum queue without a leader
    kCrash,            // dead-lettered from a classic queue, and not on disk yet
    kNewQueueCrashed,  // in a quorum queue that was created right before the crash
    kTransient,        // not persistent, and the broker was restarted
    kCycle,            // dead-lettered to a queue in which it has expired, by its x-death
    kExpired,          // expired, with no dead-letter exchange
    kRejected,         // rejected, with no dead-letter exchange
    kDeliveryLimit,    // returned too often to a quorum queue, with no dead-letter exchange
    kOverflow,         // dropped at the head of a queue with x-max-length
  };
  Cause cause;
  std::string queue;
  std::string message_id;
};

// The cause in words: "its queue expired", ….
std::string_view NameOf(LetGo::Cause cause);

// RabbitMQ in memory and in simulated time: a node with one vhost, for any number of clients, each
// with a SimulatedBroker. It behaves like measured real versions of RabbitMQ, above all in
// dangerous cases:
//
//  - x-expires deletes a queue that was not used for that long, with its messages. A declare renews
//    the lease of a classic queue but not that of a quorum queue. At the very end of a lease, the
//    broker may reply to a declare and still delete the queue; messages that are then published
//    into it are confirmed and lost.
//  - Messages expire at the head of their queue, at a deadline by the broker's wall clock, and go
//    to the dead-letter exchange with x-death. Classic queues dead-letter without confirms:
//    messages that no queue accepts are lost. Quorum queues with at-least-once keep these messages
//    and try again, 32 per queue at a time: while no queue accepts those 32, no other message
//    leaves.
//  - Publishes are confirmed once they are on disk, which takes a moment; mandatory ones are
//    returned if they match no binding; a missing exchange closes the channel; a full queue
//    (x-max-length with reject-publish) replies with a nack.
//  - Consumers have a prefetch; their unsettled messages return to their place in the queue,
//    redelivered. Quorum queues count this, up to x-delivery-limit; from 4.3 on, messages that the
//    client requeues or leaves unsettled for too long only raise x-acquired-count.
//  - A crash loses messages that are not on disk, and restores messages that had just left.
//
// Not simulated: policies, clusters, priorities, exclusive queues, transactions, CC and BCC,
// streams, users, headers exchanges. Direct, fanout and topic exchanges are simulated.
//
//   SimulatedTime time;
//   SeededRandom random;
//   SimulatedRabbitMq rabbit(time, random);
//   rabbit.DeclareQueue("orders");
//   SimulatedBroker broker(rabbit);
//   Client client(EnvironmentOf(time, random), broker, {}, fatal);
//   …
//   rabbit.Publish("", "orders", {.message_id = "1"}, "body");
//   time.Advance(absl::Minutes(10));
//   EXPECT_EQ(rabbit.Count("orders.parked"), 1U);
//
// Does not depend on a test framework (the example uses one). Not thread-safe.
class SimulatedRabbitMq {
 public:
  struct Options {
    std::string version = "3.10.8";

    // Longest time until a persistent message is on disk and confirmed.
    Duration max_sync = absl::Milliseconds(20);

    // Longest time until a dead-lettered message of a classic queue is on disk.
    Duration max_lazy_sync = absl::Seconds(2);

    // Longest time that a quorum queue has no leader after a start.
    Duration max_election = absl::Seconds(3);

    // Whether a quorum queue whose lease ended while the node was down is deleted with its
    // messages, as on 4.3, or first dead-letters the messages that are due, as on earlier versions.
    bool downtime_counts = true;

    // Whether a restart renews the lease of a quorum queue.
    bool restart_renews_quorum = false;

    // How long a delivery may be unsettled. After that, versions before 4.3 close the channel;
    // newer versions requeue the message, uncounted, and cancel the consumer, and do so for quorum
    // queues only.
    Duration consumer_timeout = absl::InfiniteDuration();
  };

  // `time` and `random` must outlive it.
  SimulatedRabbitMq(SimulatedTime& time, Random& random);
  SimulatedRabbitMq(SimulatedTime& time, Random& random, Options options);
  ~SimulatedRabbitMq();
  SimulatedRabbitMq(const SimulatedRabbitMq&) = delete;
  SimulatedRabbitMq& operator=(const SimulatedRabbitMq&) = delete;

  // Setup by an operator: durable queues and exchanges, and bindings. An existing queue or exchange
  // is not changed. An exchange is "direct", "fanout" or "topic".
  void DeclareQueue(std::string_view name, const amqp::Table& arguments = {});
  void DeclareExchange(std::string_view name, std::string_view type = "direct");
  void Bind(std::string_view exchange, std::string_view queue, std::string_view routing_key = "");

  // Publishes a message like a producer: persistent unless `properties` set another mode, and on
  // disk at once. Returns false if no queue takes it.
  bool Publish(std::string_view exchange, std::string_view routing_key,
               amqp::Properties properties = {}, std::string_view body = {});

  // Faults. The counts are those of delete-ok and purge-ok.
  std::size_t DeleteQueue(std::string_view name);
  void DeleteExchange(std::string_view name);
  std::size_t Purge(std::string_view name);
  void Crash();     // kill -9
  void ShutDown();  // graceful
  void Start();
  // A resource alarm: the broker notifies connections that publish, and stops reading from them.
  void SetAlarm(bool alarm);
  // Declares are refused with 403, as if the user has no right to configure.
  void RefuseDeclares(bool refuse);
  // Publishes of clients are nacked, as by a queue that fails.
  void RefusePublishes(bool refuse);
  // Steps only the broker's wall clock, which determines the deadlines of messages.
  void StepClock(Duration by);

  // State, as an operator sees it. Messages of a queue are ready or unacked; the unacked ones come
  // first.
  bool up() const;
  bool HasQueue(std::string_view name) const;
  bool HasExchange(std::string_view name) const;
  std::size_t Count(std::string_view queue) const;
  std::vector<amqp::MessagePtr> Messages(std::string_view queue) const;
  std::vector<std::string> queues() const;
  // An argument of a queue, such as "x-expires"; nullopt if there is no such queue or argument.
  std::optional<amqp::Value> Argument(std::string_view queue, std::string_view name) const;

  // All messages that were lost, dropped or deleted since the beginning, in order.
  const std::vector<LetGo>& let_go() const;
  // Messages that had been dead-lettered when the node went down, and are back in their delay
  // queue: they may arrive twice.
  const std::vector<std::string>& brought_back() const;

  // For SimulatedBroker.
  const std::shared_ptr<Node>& node() const { return node_; }

 private:
  std::shared_ptr<Node> node_;
};

}  // namespace retryq::testing

#endif  // RETRYQ_TESTING_SIMULATED_RABBITMQ_H_
