#ifndef RETRYQ_TEST_SUPPORT_MODEL_BROKER_H_
#define RETRYQ_TEST_SUPPORT_MODEL_BROKER_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_set>

#include "absl/time/time.h"
#include "retryq/broker.h"
#include "retryq/testing/seeded_random.h"
#include "retryq/testing/simulated_time.h"

namespace retryq {

// How RabbitMQ treats classic delay queues, with all that makes it dangerous and in the
// numbering of doc/rabbitmq_facts.md:
//  - a queue that nobody redeclares for x-expires goes, with its messages (F1, F2, F3);
//  - declared within `kEdge` of that, it may answer and go all the same, once (F5, F31);
//  - what is published into it meanwhile is confirmed and lost (F6);
//  - its exchange goes with it (F21);
//  - messages leave at the head only, at a deadline by the wall clock (F10), queues go by a
//    clock that never steps (F30).
// Every call is handled at the simulated instant at which it is made.
class ModelBroker {
 public:
  using MessageId = std::uint64_t;

  // How long the end of a queue takes, on either side of it.
  static constexpr absl::Duration kEdge = absl::Milliseconds(40);

  // Both must outlive it.
  ModelBroker(testing::SimulatedTime& time, testing::SeededRandom& random)
      : time_(time), random_(random) {}

  DeclareOk Declare(const DeclareParams& params);

  // False: there is no such exchange, which closes the channel. True: confirmed.
  bool Publish(const std::string& name, MessageId message);

  void StepWallClock(absl::Duration by);

  // How far the wall clock may step back so that no waiting message has been set back by more
  // than `limit` since it came. With `but_counted`, messages that a declare-ok has counted do not
  // matter.
  absl::Duration ToleratedStep(absl::Duration limit, bool but_counted);

  // When the queue will go if nobody declares it; nothing if there is none.
  std::optional<absl::Duration> EndOf(const std::string& name) const;

  // Messages that went with their queue. Up to date after `Settle`.
  const std::unordered_set<MessageId>& lost() const { return lost_; }

  // Lets go what is over by now.
  void Settle();

  // Declares that were answered by a queue which went all the same.
  std::uint64_t deceptions() const { return deceptions_; }

 private:
  struct Message {
    MessageId id;
    absl::Time deadline;
    absl::Duration set_back = absl::ZeroDuration();
    bool counted = false;
  };

  struct Queue {
    absl::Duration ttl;
    absl::Duration expires;
    absl::Duration end;
    bool has_deceived = false;
    bool gone = false;
    std::deque<Message> messages = {};
  };

  void Settle(Queue& queue);
  void Bury(Queue& queue);

  testing::SimulatedTime& time_;
  testing::SeededRandom& random_;
  std::map<std::string, Queue> queues_;  // those that are gone too: their end takes a while
  std::unordered_set<MessageId> lost_;
  std::uint64_t deceptions_ = 0;
};

}  // namespace retryq

#endif  // RETRYQ_TEST_SUPPORT_MODEL_BROKER_H_
