#ifndef RETRYQ_OUTCOME_H_
#define RETRYQ_OUTCOME_H_

#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "retryq/export.h"

namespace retryq {

// What became of a message in a handler. Made implicitly from an absl::Status:
//
//   ok                                              acked
//   kInvalidArgument, kOutOfRange, kUnimplemented   parked: retrying cannot fix it
//   any other error                                 retried after the policy's delay
//
// `RetryOptions::permanent` replaces that rule about which errors are permanent. A value: it may be
// made on any thread, and handed to another.
class RETRYQ_EXPORT [[nodiscard]] Outcome {
 public:
  enum class Kind {
    kByStatus,    // as the status and the policy say
    kRetryAfter,  // retried after `delay`
    kPark,
    kDiscard,
    kRequeue,  // back into the queue
    kSnooze,   // comes back after `delay`; not a failure
  };

  // NOLINTNEXTLINE(google-explicit-constructor): a handler returns its status.
  Outcome(absl::Status status) : status_(std::move(status)) {}

  static Outcome Ok() { return Outcome(absl::OkStatus()); }

  // Retried after exactly this delay instead of the policy's, in whole milliseconds, rounded up,
  // and held between 1 ms and `RetryOptions::max_retry_after`. It counts as an attempt. An ok
  // status is taken for kUnknown.
  static Outcome RetryAfter(absl::Duration delay, absl::Status why);

  // To the parked queue at once. An ok status is taken for kUnknown.
  static Outcome Park(absl::Status why);

  // Acked and gone, as a decision of the handler's. The reason goes to the observer.
  static Outcome Discard(std::string reason);

  // Back into the queue at once, as if it had not been delivered; no attempt is counted. For a
  // handler that is about to stop: while it runs on, the message comes straight back.
  // On a broker before 4.3, whose quorum queues count each return, a copy goes to the end of the
  // queue: see RetryOptions::count_redeliveries.
  static Outcome Requeue();

  // Comes back after this delay, through delay queues as a retry does; no attempt is counted. For a
  // handler that cannot handle the message yet. The delay is that of RetryAfter: whole
  // milliseconds, rounded up, and held between 1 ms and `RetryOptions::max_retry_after`. The reason
  // goes to the observer. Nothing limits how often a message is snoozed, except that one which has
  // failed before is given up where it would come back later than `RetryOptions::max_age` allows.
  static Outcome Snooze(absl::Duration delay, std::string reason);

  // The same, with how long the handling took, which becomes `Event::handling`: for a handler that
  // lets messages wait, as for a thread of its own. Without it that is the time from the handler's
  // call to the outcome.
  Outcome Took(absl::Duration handling) && {
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
