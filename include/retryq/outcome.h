#ifndef RETRYQ_OUTCOME_H_
#define RETRYQ_OUTCOME_H_

#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "retryq/duration.h"
#include "retryq/export.h"

namespace retryq {

// The result of a handler for one message. Converts implicitly from an absl::Status:
//
//   ok                                              acked
//   kInvalidArgument, kOutOfRange, kUnimplemented   parked: retrying cannot fix it
//   any other error                                 retried after the policy's delay
//
// `RetryOptions::permanent` replaces the rule about which errors are permanent. An Outcome is a
// value: it may be made on any thread, and passed to another.
class RETRYQ_EXPORT [[nodiscard]] Outcome {
 public:
  enum class Kind {
    kByStatus,    // the status and the policy decide
    kRetryAfter,  // retried after `delay`
    kPark,
    kDiscard,
    kRequeue,  // returned to the queue
    kSnooze,   // returns after `delay`; not a failure
  };

  // NOLINTNEXTLINE(google-explicit-constructor): a handler returns its status.
  Outcome(absl::Status status) : status_(std::move(status)) {}

  static Outcome Ok() { return Outcome(absl::OkStatus()); }

  // Retries after exactly this delay instead of the policy's. The delay is rounded up to whole
  // milliseconds and limited to the range from 1 ms to `RetryOptions::max_retry_after`. Counts as
  // an attempt. An ok status is treated as kUnknown.
  static Outcome RetryAfter(Duration delay, absl::Status why);

  // Parks the message at once. An ok status is treated as kUnknown.
  static Outcome Park(absl::Status why);

  // Acks and drops the message, by the handler's decision. The observer receives the reason.
  static Outcome Discard(std::string reason);

  // Requeues the message at once, as if it had not been delivered; no attempt is counted. Use this
  // only in a handler that is about to stop: while its consumer keeps consuming, the message is
  // redelivered immediately. On a broker before 4.3, whose quorum queues count each return, a copy
  // is appended to the queue instead: see RetryOptions::count_redeliveries.
  static Outcome Requeue();

  // Delivers the message again after this delay, through delay queues like a retry; no attempt is
  // counted. For a handler that cannot handle the message yet. As in RetryAfter, the delay is
  // rounded up to whole milliseconds and limited to the range from 1 ms to
  // `RetryOptions::max_retry_after`. The observer receives the reason. A message may be snoozed any
  // number of times, except that a message that has failed before is given up if it would return
  // later than `RetryOptions::max_age` allows.
  static Outcome Snooze(Duration delay, std::string reason);

  // Returns this outcome with the time that the handling took, which becomes `Event::handling`. Use
  // it in a handler that queues messages, for example for its own thread. Without it,
  // `Event::handling` is the time from the handler's call to the outcome.
  Outcome Took(Duration handling) && {
    took_ = handling;
    return std::move(*this);
  }

  Kind kind() const { return kind_; }
  const absl::Status& status() const { return status_; }
  absl::Duration delay() const { return delay_; }
  std::optional<absl::Duration> took() const { return took_; }

 private:
  Outcome(Kind kind, absl::Status status, absl::Duration delay = absl::ZeroDuration())
      : kind_(kind), status_(std::move(status)), delay_(delay) {}

  Kind kind_ = Kind::kByStatus;
  absl::Status status_;
  absl::Duration delay_ = absl::ZeroDuration();
  std::optional<absl::Duration> took_;
};

}  // namespace retryq

#endif  // RETRYQ_OUTCOME_H_
