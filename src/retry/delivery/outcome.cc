#include "retryq/outcome.h"

namespace retryq {
namespace {

// A retry or parking with an ok status is a mistake of the handler: the message has failed.
absl::Status AsError(absl::Status why) {
  if (why.ok()) return absl::UnknownError("the handler gave no reason");
  return why;
}

}  // namespace

Outcome Outcome::RetryAfter(Duration delay, absl::Status why) {
  return Outcome(Kind::kRetryAfter, AsError(std::move(why)), delay);
}

Outcome Outcome::Park(absl::Status why) { return Outcome(Kind::kPark, AsError(std::move(why))); }

// NOLINTNEXTLINE(performance-unnecessary-value-param): callers need not know that a status copies
Outcome Outcome::Discard(std::string reason) {
  return Outcome(Kind::kDiscard, absl::UnknownError(reason));
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): the same
Outcome Outcome::Snooze(Duration delay, std::string reason) {
  return Outcome(Kind::kSnooze, absl::CancelledError(reason), delay);
}

Outcome Outcome::Requeue() {
  return Outcome(Kind::kRequeue, absl::CancelledError("requeued unhandled"));
}

}  // namespace retryq
