#ifndef RETRYQ_TEST_SUPPORT_MODEL_BROKER_H_
#define RETRYQ_TEST_SUPPORT_MODEL_BROKER_H_

#include <unordered_set>

#include "retryq/amqp/table.h"
#include "retryq/broker/broker.h"
#include "retryq/testing/seeded_random.h"
#include "retryq/testing/simulated_time.h"
#include "support/test.h"

namespace retryq {

// How RabbitMQ treats delay queues, with all that makes it dangerous and in the numbering of
// doc/rabbitmq_facts.md:
//  - a queue goes with its messages when x-expires is over (F1, F2, F3); a declare begins that time
//    anew for a classic queue, and for a quorum queue it does not (F4);
//  - a quorum queue refuses a declare with other arguments;
//  - a classic queue that is declared within `kEdge` of its end may answer and go all the same,
//    once (F5, F31);
//  - what is published into it meanwhile is confirmed and lost (F6);
//  - its exchange goes with it (F21);
//  - messages leave at the head only, at a deadline by the wall clock (F10), queues go by a
//    clock that never steps (F30);
//  - while the broker is down nothing leaves, but the time of a queue runs on (F28), or a restart
//    begins it anew.
// Every call is handled at the simulated instant at which it is made.
//
// Why not retryq::testing::SimulatedRabbitMq: that moves messages from queue to queue as a broker
// does, chooses the moments itself, and is what whole workers are simulated on. The histories of
// leases need to steer towards the moments that are dangerous (`EndOf`, `NextLoss`,
// `ToleratedStep`), with answers that come in any order. That both are written from the facts alone
// lets an error in one show.
class ModelBroker {
 public:
  using MessageId = std::uint64_t;

  // How long the deletion of an expired queue takes, before and after its exact time.
  static constexpr absl::Duration kEdge = absl::Milliseconds(40);

  // Both must outlive it. `restarts_renew`: a restart renews the leases of all queues.
  ModelBroker(testing::SimulatedTime& time, testing::SeededRandom& random,
              bool restarts_renew = false)
      : time_(time), random_(random), restarts_renew_(restarts_renew) {}

  // While the broker is down, only `ComeBack` may be called.
  bool up() const { return up_; }
  void GoDown();
  void ComeBack();

  absl::StatusOr<DeclareOk> Declare(const DeclareParams& params);

  // Returns true if the publish is confirmed; false if the exchange does not exist, which closes
  // the channel.
  bool Publish(const std::string& name, MessageId message);

  void StepWallClock(absl::Duration by);

  // How far the wall clock may step back so that no waiting message has been set back by more
  // than `limit` since it came. With `but_counted`, messages that a declare-ok has counted do not
  // matter.
  absl::Duration ToleratedStep(absl::Duration limit, bool but_counted);

  // When the queue will be deleted unless it is declared again; nullopt if it does not exist.
  std::optional<absl::Duration> EndOf(const std::string& name) const;

  // When the first queue that has messages will be deleted; infinite if no queue has any.
  absl::Duration NextLoss();

  // Names that have been declared so far.
  std::size_t queues() const { return queues_.size(); }

  // Messages that were deleted with their queue. Up to date after `Settle`.
  const std::unordered_set<MessageId>& lost() const { return lost_; }

  // Removes everything that has expired.
  void Settle();

  // Declares that were answered by a queue that was deleted nevertheless.
  std::uint64_t deceptions() const { return deceptions_; }

 private:
  struct Message {
    MessageId id;
    absl::Time deadline;
    absl::Duration set_back = absl::ZeroDuration();
    bool counted = false;
  };

  struct Queue {
    amqp::Table arguments;
    bool quorum;
    absl::Duration ttl;
    absl::Duration expires;
    absl::Duration end;
    bool has_deceived = false;
    bool gone = false;
    std::deque<Message> messages = {};
  };

  DeclareOk DeclareClassic(Queue& queue);
  absl::StatusOr<DeclareOk> DeclareQuorum(Queue& queue, const DeclareParams& params);
  Queue NewQueue(const DeclareParams& params) const;
  void Settle(Queue& queue);
  void Bury(Queue& queue);

  testing::SimulatedTime& time_;
  testing::SeededRandom& random_;
  const bool restarts_renew_;
  bool up_ = true;
  std::map<std::string, Queue> queues_;  // includes queues in deletion, which takes a while
  std::unordered_set<MessageId> lost_;
  std::uint64_t deceptions_ = 0;
};

}  // namespace retryq

#endif  // RETRYQ_TEST_SUPPORT_MODEL_BROKER_H_
