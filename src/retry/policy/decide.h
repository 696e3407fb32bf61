#ifndef RETRYQ_SRC_RETRY_POLICY_DECIDE_H_
#define RETRYQ_SRC_RETRY_POLICY_DECIDE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "retry/delivery/delivery_facts.h"
#include "retry/policy/next_delay.h"
#include "retryq/delivery.h"
#include "retryq/outcome.h"
#include "retryq/random.h"
#include "retryq/retry_options.h"

namespace retryq {

// What happens to a delivery next.
struct Step {
  enum class Kind {
    // When it arrives:
    kHandle,   // the handler is called
    kWait,     // for what is left of its delay, which is too short for a queue; then kHandle
    kForward,  // a copy goes into one more delay queue, for what is left of its delay
    kMove,     // a copy goes behind the others in its queue, which counts its deliveries anew
    kSkip,     // it is another queue's to retry: acked unseen

    // After its handler's call, or when it arrives and the workers that had it have not settled it:
    kAck,
    kRetry,     // a copy goes to a delay queue, then it is acked
    kPark,      // a copy goes to the parked queue, then it is acked
    kReject,    // to the queue's own dead-letter exchange, if it has one
    kDiscard,   // acked
    kGiveBack,  // back into its queue, without counting as failed
    kSnooze     // a copy goes to a delay queue, then it is acked; it does not count as failed
  };

  Kind kind = Kind::kHandle;

  // kRetry, kSnooze, kWait, kForward: how long, in whole milliseconds, above zero.
  absl::Duration delay = absl::ZeroDuration();

  // kForward: how long it waits here first, as it came back too soon: see kShortestRound.
  absl::Duration pause = absl::ZeroDuration();

  // When it arrives: the failures before this step, with the redeliveries that count. It becomes
  // `Delivery::attempt`.
  std::uint64_t failures = 0;

  // When the message failed first. Of kRetry, kPark, kReject and kDiscard: never after now,
  // whatever the headers state. Of kForward, kMove and kSnooze: for the case that their copy must
  // be parked instead.
  absl::Time first_failure = {};

  // The error that the copy states, e.g. "UNAVAILABLE: connection refused": for `x-retry-error`. Of
  // kForward, kMove and kSnooze it is for the case that their copy must be parked instead.
  std::string error = {};

  // For people, why: the error, preceded where a limit is reached, e.g. "gave up after 8 attempts:
  // UNAVAILABLE: connection refused". Of kSnooze the handler's own words. Empty where nothing
  // failed.
  std::string reason = {};

  // After the call of a handler: whether it ended in an error of the kind that is retried, also
  // where a limit ends that.
  bool transient = false;

  // Whether the delivery has failed.
  bool failed() const {
    return kind == Kind::kRetry || kind == Kind::kPark || kind == Kind::kReject ||
           kind == Kind::kDiscard;
  }

  // As new, with the memory of the texts.
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

// A message that its delay queue lets go too soon goes round again for the rest of its delay, and
// not more often than once in this time, however soon it comes: what is missing it waits here.
inline constexpr absl::Duration kShortestRound = absl::Seconds(1);

// Decides what happens to a delivery: from what is known of it, its handler's outcome, the options,
// the time and chance, and from nothing else. Knows no broker, and changes nothing.
//
// It calls the options' functions, on the loop's thread: a predicate that throws decides for a
// retry, a backoff function that throws for the delay of the other fields.
class RetryPolicy {
 public:
  // Valid options only.
  explicit RetryPolicy(RetryOptions options);

  // When it arrives: how its handling begins, or what happens instead. The time is that of the
  // facts.
  //
  // Redeliveries count as failures. The last of them is decided on as an error of the handler is:
  // the message goes its way without the handler where that leads to anything else than a retry,
  // and where only a copy can keep the count. It is retried within the limits of the options,
  // whatever they say of single errors.
  Step Decide(const DeliveryFacts& facts, Random& random) const;

  // After the call of a handler that ended in `outcome`, for a message with this `history` (which
  // does not yet know of the call). `now` is wall clock.
  Step Decide(const Outcome& outcome, const Delivery::History& history, absl::Time now,
              Random& random) const;
  // The same in place of the step before, whose memory is used again.
  void Decide(const Outcome& outcome, const Delivery::History& history, absl::Time now,
              Random& random, Step* step) const;

  const RetryOptions& options() const { return options_; }

 private:
  // On the last of the redeliveries. `step->failures` are those before it.
  void DecideUnsettled(const DeliveryFacts& facts, Random& random, Step* step) const;
  // `rule`: which one is for the error; null if none.
  absl::Duration DelayAfter(const absl::Status& error, const ErrorRule* rule,
                            const Delivery::History& history, absl::Time now, Random& random) const;

  RetryOptions options_;
  FixedDelays delays_;                    // of options_.backoff
  std::vector<FixedDelays> rule_delays_;  // of each rule
};

// The longest delay that a policy with these options may decide on: what delay queues must be able
// to hold. Valid options only.
absl::Duration LongestDelay(const RetryOptions& options);

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_POLICY_DECIDE_H_
