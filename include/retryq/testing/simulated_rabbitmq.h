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
#include "retryq/random.h"
#include "retryq/testing/simulated_time.h"

namespace retryq::testing {

class Node;

// A message that the broker let go other than by an ack.
struct LetGo {
  enum class Cause {
    kQueueExpired,     // with its queue, whose lease was over (x-expires)
    kQueueDeleted,     // with its queue, which was deleted, or into it at that moment
    kPurged,           // with what else was in its queue
    kNoRoute,          // dead-lettered to where no queue takes it
    kNoLeader,         // dead-lettered from a classic queue to a quorum queue without a leader
    kCrash,            // dead-lettered from a classic queue, and not on disk yet
    kNewQueueCrashed,  // in a quorum queue made right before the crash
    kTransient,        // not persistent, and the broker was restarted
    kCycle,            // dead-lettered to a queue that its x-death says it expired in
    kExpired,          // expired, with no dead-letter exchange
    kRejected,         // rejected, with no dead-letter exchange
    kDeliveryLimit,    // returned too often to a quorum queue, with no dead-letter exchange
    kOverflow,         // dropped at the head of a queue with x-max-length
  };
  Cause cause;
  std::string queue;
  std::string message_id;
};

// In words: "its queue expired", ….
std::string_view NameOf(LetGo::Cause cause);

// RabbitMQ in memory and in simulated time: a node with one vhost, behind as many SimulatedBrokers
// as there are clients. It does what a real one was measured to do, the dangerous things above all:
//
//  - x-expires takes a queue that nobody used for that long, with what is in it. A declare renews
//    the lease of a classic queue and not that of a quorum queue. At the edge a declare can be
//    answered and the queue still go, and what is published then is confirmed and gone.
//  - Messages expire at the head of their queue, at a deadline by the broker's wall clock, and go
//    to the dead-letter exchange with x-death. From classic queues unconfirmed: where no queue
//    takes them they are gone. From quorum queues with at-least-once they are kept and tried again,
//    32 of a queue at a time: while so many find no queue that takes them, no other leaves.
//  - Publishes are confirmed once they are on disk, which takes a moment; mandatory ones come back
//    where no queue takes them; a missing exchange closes the channel; x-max-length with
//    reject-publish is answered by a nack.
//  - Consumers have their prefetch, what they leave unsettled comes back to its place, redelivered.
//    Quorum queues count that, up to x-delivery-limit; from 4.3 on what is given back by the
//    client, or was unsettled for too long, only raises x-acquired-count.
//  - A crash takes what is not on disk, and brings back what had just left.
//
// Not simulated: policies, clusters, priorities, exclusive queues, transactions, CC and BCC,
// streams, users. Direct, fanout and topic exchanges are there, a headers exchange is not.
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
// The names in tests of a test framework apart, nothing here depends on one. One thread.
class SimulatedRabbitMq {
 public:
  struct Options {
    std::string version = "3.10.8";

    // How long a persistent message takes to be on disk, at the longest; then it is confirmed.
    absl::Duration max_sync = absl::Milliseconds(20);

    // How long a dead-lettered message of a classic queue takes to be on disk, at the longest.
    absl::Duration max_lazy_sync = absl::Seconds(2);

    // How long a quorum queue has no leader after a start, at the longest.
    absl::Duration max_election = absl::Seconds(3);

    // Whether a quorum queue whose lease ended while the node was down goes with what is in it,
    // as on 4.3, or first lets go what is due, as before.
    bool downtime_counts = true;

    // Whether a restart begins the lease of a quorum queue anew.
    bool restart_renews_quorum = false;

    // How long a delivery may be unsettled. Then versions before 4.3 close the channel; newer ones
    // return it, uncounted, and cancel the consumer, and look at quorum queues alone.
    absl::Duration consumer_timeout = absl::InfiniteDuration();
  };

  // Both must outlive it.
  SimulatedRabbitMq(SimulatedTime& time, Random& random);
  SimulatedRabbitMq(SimulatedTime& time, Random& random, Options options);
  ~SimulatedRabbitMq();
  SimulatedRabbitMq(const SimulatedRabbitMq&) = delete;
  SimulatedRabbitMq& operator=(const SimulatedRabbitMq&) = delete;

  // What an operator sets up. Durable. A queue or exchange that exists stays as it is. An exchange
  // is "direct", "fanout" or "topic".
  void DeclareQueue(std::string_view name, const amqp::Table& arguments = {});
  void DeclareExchange(std::string_view name, std::string_view type = "direct");
  void Bind(std::string_view exchange, std::string_view queue, std::string_view routing_key = "");

  // Puts a message where a producer would: persistent unless it says otherwise, and on disk at
  // once. False where no queue takes it.
  bool Publish(std::string_view exchange, std::string_view routing_key,
               amqp::Properties properties = {}, std::string_view body = {});

  // What goes wrong. The counts are those of delete-ok and purge-ok.
  std::size_t DeleteQueue(std::string_view name);
  void DeleteExchange(std::string_view name);
  std::size_t Purge(std::string_view name);
  void Crash();     // kill -9
  void ShutDown();  // in order
  void Start();
  // A resource alarm: it reads no more from connections that publish, and tells them.
  void SetAlarm(bool alarm);
  // Declares are refused with 403, as without the permission to configure.
  void RefuseDeclares(bool refuse);
  // What clients publish is nacked, as by a queue in trouble.
  void RefusePublishes(bool refuse);
  // Steps the broker's wall clock alone, which message deadlines go by.
  void StepClock(absl::Duration by);

  // What an operator sees. A queue's messages: ready and unacked, those handed to consumers first.
  bool up() const;
  bool HasQueue(std::string_view name) const;
  bool HasExchange(std::string_view name) const;
  std::size_t Count(std::string_view queue) const;
  std::vector<amqp::MessagePtr> Messages(std::string_view queue) const;
  std::vector<std::string> queues() const;
  // An argument of a queue, such as "x-expires"; nothing if the queue or the argument is not there.
  std::optional<amqp::Value> Argument(std::string_view queue, std::string_view name) const;

  // All that was let go since the beginning, in order.
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
