#ifndef RETRYQ_SRC_RETRY_POLICY_RETRY_POLICY_H_
#define RETRYQ_SRC_RETRY_POLICY_RETRY_POLICY_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "retry/policy/fixed_delays.h"
#include "retryq/delivery.h"
#include "retryq/outcome.h"
#include "retryq/random.h"
#include "retryq/retry_options.h"

namespace retryq {

// Decides what becomes of a message after a call of its handler. Knows no clock and no broker.
class RetryPolicy {
 public:
  // Valid options only.
  explicit RetryPolicy(RetryOptions options);

  struct Decision {
    enum class Kind { kAck, kRetry, kPark, kReject, kDiscard, kRequeue };

    Kind kind = Kind::kAck;

    // kRetry: how long to wait, in whole milliseconds, above zero.
    absl::Duration delay = absl::ZeroDuration();

    // Unless kAck or kRequeue: when the message failed first. Never after `now`, whatever the
    // headers say.
    absl::Time first_failure = {};

    // Unless kAck or kRequeue: the handler's error, e.g. "UNAVAILABLE: connection refused". For
    // `x-retry-error`.
    std::string error = {};

    // Unless kAck or kRequeue: why this decision, for people: the error, preceded where a limit is
    // reached, e.g. "gave up after 8 attempts: UNAVAILABLE: connection refused".
    std::string reason = {};

    // Undecided, with the memory of the texts.
    void Clear() {
      kind = Kind::kAck;
      delay = absl::ZeroDuration();
      first_failure = {};
      error.clear();
      reason.clear();
    }
  };

  // After the call of a handler that ended in `outcome`, for a message with this `history` (which
  // does not yet know of the call). `now` is wall clock. On the loop's thread, as it calls the
  // options' functions: a predicate that throws decides for a retry, a backoff function that throws
  // for the delay of the other fields.
  Decision Decide(const Outcome& outcome, const Delivery::History& history, absl::Time now,
                  Random& random) const;
  // The same in place of the decision before, whose memory is used again.
  void Decide(const Outcome& outcome, const Delivery::History& history, absl::Time now,
              Random& random, Decision* decision) const;

  // The same without a call of the handler, for a message whose workers have not settled it: the
  // last time that one had it counts as the call, and `error` says so. Never kAck or kRequeue; it
  // is retried within the limits of the options, whatever they say of single errors.
  Decision DecideUnsettled(const absl::Status& error, const Delivery::History& history,
                           absl::Time now, Random& random) const;

  const RetryOptions& options() const { return options_; }

 private:
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

#endif  // RETRYQ_SRC_RETRY_POLICY_RETRY_POLICY_H_
