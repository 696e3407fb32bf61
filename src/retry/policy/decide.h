#ifndef RETRYQ_SRC_RETRY_POLICY_DECIDE_H_
#define RETRYQ_SRC_RETRY_POLICY_DECIDE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "retry/delivery/delivery_facts.h"
#include "retry/policy/next_delay.h"
#include "retryq/broker/random.h"
#include "retryq/delivery.h"
#include "retryq/outcome.h"
#include "retryq/retry_options.h"

namespace retryq {

// The next step of a delivery.
struct Step {
  enum class Kind {
    // When the delivery arrives:
    kHandle,   // call the handler
    kWait,     // wait for the rest of its delay, which is too short for a queue; then kHandle
    kForward,  // publish a copy into another delay queue, for the rest of its delay
    kMove,     // publish a copy to the end of its queue, which resets its delivery count
    kSkip,     // ack it unread: another queue's consumer retries it

    // After the call of the handler, or on arrival if earlier workers have not settled it:
    kAck,
    kRetry,    // publish a copy to a delay queue, then ack
    kPark,     // publish a copy to the parked queue, then ack
    kReject,   // reject it, to the queue's own dead-letter exchange if it has one
    kDiscard,  // ack it
    kRequeue,  // requeue it, without counting a failure
    kSnooze    // publish a copy to a delay queue, then ack, without counting a failure
  };

  Kind kind = Kind::kHandle;

  // kRetry, kSnooze, kWait, kForward: the delay in whole milliseconds, above zero.
  absl::Duration delay = absl::ZeroDuration();

  // kForward, kPark: how long the message waits in this consumer first, because it returned too
  // soon: see kShortestRound.
  absl::Duration pause = absl::ZeroDuration();

  // On arrival: the failures before this step, including redeliveries that count. Becomes
  // `Delivery::attempt`.
  std::uint64_t failures = 0;

  // Time of the first failure. For kRetry, kPark, kReject and kDiscard it is never in the future,
  // whatever the headers state. For kForward, kMove and kSnooze it is used only if their copy must
  // be parked instead.
  absl::Time first_failure = {};

  // The error for `x-retry-error`, e.g. "UNAVAILABLE: connection refused". For kForward, kMove and
  // kSnooze it is used only if their copy must be parked instead.
  std::string error = {};

  // The reason for people: the error, after the limit that was reached, e.g. "gave up after 8
  // attempts: UNAVAILABLE: connection refused". For kSnooze the handler's reason. Empty if nothing
  // failed.
  std::string reason = {};

  // After the call of a handler: whether its error is of a kind that is retried, even if a limit
  // ends the retries.
  bool transient = false;

  // Whether the step treats the delivery as failed.
  bool failed() const {
    return kind == Kind::kRetry || kind == Kind::kPark || kind == Kind::kReject ||
           kind == Kind::kDiscard;
  }

  // Resets all fields, but keeps the memory of the texts.
  void Clear() {
    kind = Kind::kHandle;
    delay = absl::ZeroDuration();
    pause = absl::ZeroDuration();
    failures = 0;
    first_failure = {};
    error.clear();
    reason.clear();
    transient = false;
  }
};

// A message that leaves its delay queue too soon is published to a delay queue again for the rest
// of its delay, at most once in this time. If it returns sooner, it waits in this consumer first. A
// message that returns beyond its limits also waits before it is parked again, because the parked
// queue itself may dead-letter to the work queue.
inline constexpr absl::Duration kShortestRound = absl::Seconds(1);

// Decides the next step of a delivery. A decision depends only on the facts of the delivery, the
// handler's outcome, the options, the time and random numbers. It does not use the broker, and
// changes no state.
//
// It calls the options' functions on the loop's thread. If a predicate throws, the message is
// retried. If a backoff function throws, the other fields determine the delay.
class RetryPolicy {
 public:
  // The options must be valid.
  explicit RetryPolicy(RetryOptions options);

  // Decides on the first step of a delivery that has arrived. The time is `facts.read_at`.
  //
  // Redeliveries count as failures, and the last one has the effect of an error of the handler. The
  // handler is not called if the decision is not a retry, or if only a copy can keep the count. For
  // redeliveries, the limits of the options apply, not the rules for single errors.
  Step Decide(const DeliveryFacts& facts, Random& random) const;

  // Decides on the step after the call of a handler that returned `outcome`. `history` does not
  // include that call. `now` is wall clock.
  Step Decide(const Outcome& outcome, const Delivery::History& history, absl::Time now,
              Random& random) const;
  // The same, but replaces `*step` and reuses its memory.
  void Decide(const Outcome& outcome, const Delivery::History& history, absl::Time now,
              Random& random, Step* step) const;

  const RetryOptions& options() const { return options_; }

 private:
  // Decides the step for the last redelivery. `step->failures` receives the failures before it.
  void DecideUnsettled(const DeliveryFacts& facts, Random& random, Step* step) const;
  // `rule` is the rule for the error; null if there is none.
  absl::Duration DelayAfter(const absl::Status& error, const ErrorRule* rule,
                            const Delivery::History& history, absl::Time now, Random& random) const;

  RetryOptions options_;
  FixedDelays delays_;                    // of options_.backoff
  std::vector<FixedDelays> rule_delays_;  // of each rule
};

// Returns the longest delay that a policy with these options can choose. There must be delay queues
// for it. The options must be valid.
absl::Duration LongestDelay(const RetryOptions& options);

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_POLICY_DECIDE_H_
