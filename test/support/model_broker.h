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
  void GoDown() {
    Settle();
    up_ = false;
  }
  void ComeBack() {
    for (auto& [name, queue] : queues_) {
      Settle(queue);  // first removes everything that has expired
      if (restarts_renew_ && !queue.gone) queue.end = time_.SinceBoot() + queue.expires;
    }
    up_ = true;
    Settle();
  }

  absl::StatusOr<DeclareOk> Declare(const DeclareParams& params) {
    const auto found = queues_.find(params.queue.name);
    if (found == queues_.end()) {
      queues_.emplace(params.queue.name, NewQueue(params));
      return DeclareOk{};
    }
    Queue& queue = found->second;
    Settle(queue);
    return queue.quorum ? DeclareQuorum(queue, params) : DeclareClassic(queue);
  }

  // Returns true if the publish is confirmed; false if the exchange does not exist, which closes
  // the channel.
  bool Publish(const std::string& name, MessageId message) {
    const auto found = queues_.find(name);
    if (found == queues_.end()) return false;
    Queue& queue = found->second;
    Settle(queue);
    if (queue.gone) {
      if (time_.SinceBoot() >= queue.end + kEdge || random_.OneIn(2)) return false;
      lost_.insert(message);
      return true;
    }
    queue.messages.push_back({.id = message, .deadline = time_.Now() + queue.ttl});
    return true;
  }

  void StepWallClock(absl::Duration by) {
    Settle();
    for (auto& [name, queue] : queues_) {
      for (Message& message : queue.messages) message.set_back -= by;
    }
    time_.StepWallClock(by);
  }

  // How far the wall clock may step back so that no waiting message has been set back by more
  // than `limit` since it came. With `but_counted`, messages that a declare-ok has counted do not
  // matter.
  absl::Duration ToleratedStep(absl::Duration limit, bool but_counted) {
    Settle();
    absl::Duration tolerated = limit;
    for (const auto& [name, queue] : queues_) {
      for (const Message& message : queue.messages) {
        if (but_counted && message.counted) continue;
        tolerated = std::min(tolerated, limit - message.set_back);
      }
    }
    return std::max(tolerated, absl::ZeroDuration());
  }

  // When the queue will be deleted unless it is declared again; nullopt if it does not exist.
  std::optional<absl::Duration> EndOf(const std::string& name) const {
    const auto found = queues_.find(name);
    if (found == queues_.end()) return std::nullopt;
    return found->second.end;
  }

  // When the first queue that has messages will be deleted; infinite if no queue has any.
  absl::Duration NextLoss() {
    Settle();
    absl::Duration next = absl::InfiniteDuration();
    for (const auto& [name, queue] : queues_) {
      if (!queue.messages.empty()) next = std::min(next, queue.end);
    }
    return next;
  }

  // Names that have been declared so far.
  std::size_t queues() const { return queues_.size(); }

  // Messages that were deleted with their queue. Up to date after `Settle`.
  const std::unordered_set<MessageId>& lost() const { return lost_; }

  // Removes everything that has expired.
  void Settle() {
    if (!up_) return;
    for (auto& [name, queue] : queues_) Settle(queue);
  }

  // Declares that were answered by a queue that was deleted nevertheless.
  std::uint64_t deceptions() const { return deceptions_; }

 private:
  static absl::Duration MillisecondsOf(const DeclareParams& params, const char* argument) {
    const amqp::Value* value = params.queue.arguments.Find(argument);
    return absl::Milliseconds(std::get<std::int64_t>(value->variant));
  }

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

  DeclareOk DeclareClassic(Queue& queue) {
    const absl::Duration now = time_.SinceBoot();
    const auto waiting = static_cast<std::uint32_t>(queue.messages.size());
    const bool at_its_end = now >= queue.end - kEdge && now < queue.end + kEdge;
    if (at_its_end && !queue.has_deceived && random_.OneIn(2)) {
      queue.has_deceived = true;
      ++deceptions_;
      return {.message_count = waiting};
    }
    if (queue.has_deceived) Bury(queue);
    if (queue.gone) {
      queue.has_deceived = false;
      queue.gone = false;
    }
    queue.end = now + queue.expires;
    for (Message& message : queue.messages) message.counted = true;
    return {.message_count = static_cast<std::uint32_t>(queue.messages.size())};
  }
  absl::StatusOr<DeclareOk> DeclareQuorum(Queue& queue, const DeclareParams& params) {
    if (queue.gone) {
      queue = NewQueue(params);
    } else if (queue.arguments != params.queue.arguments) {
      return absl::FailedPreconditionError("inequivalent arg 'x-expires'");
    }
    return DeclareOk{};
  }
  Queue NewQueue(const DeclareParams& params) const {
    const amqp::Value* const type = params.queue.arguments.Find("x-queue-type");
    const absl::Duration expires = MillisecondsOf(params, "x-expires");
    return {.arguments = params.queue.arguments,
            .quorum = type != nullptr && *type == amqp::Value("quorum"),
            .ttl = MillisecondsOf(params, "x-message-ttl"),
            .expires = expires,
            .end = time_.SinceBoot() + expires};
  }
  void Settle(Queue& queue) {
    const absl::Duration now = time_.SinceBoot();
    while (up_ && !queue.messages.empty()) {
      const absl::Duration leaves = now + (queue.messages.front().deadline - time_.Now());
      if (leaves > now || leaves >= queue.end) break;
      queue.messages.pop_front();
    }
    if (now >= queue.end) Bury(queue);
  }
  void Bury(Queue& queue) {
    for (const Message& message : queue.messages) lost_.insert(message.id);
    queue.messages.clear();
    queue.gone = true;
  }

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
