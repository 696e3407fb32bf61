#include "retryq/outcome.h"

#include <string>
#include <utility>

namespace retryq {
namespace {

// Asking for a retry or for parking with an ok status is a slip: the message failed.
absl::Status AsError(absl::Status why) {
  return why.ok() ? absl::UnknownError("the handler gave no reason") : std::move(why);
}

}  // namespace

Outcome Outcome::RetryAfter(absl::Duration delay, absl::Status why) {
  return Outcome(Kind::kRetryAfter, AsError(std::move(why)), delay);
}

Outcome Outcome::Park(absl::Status why) { return Outcome(Kind::kPark, AsError(std::move(why))); }

Outcome Outcome::Discard(std::string_view reason) {
  return Outcome(Kind::kDiscard, absl::UnknownError(std::string(reason)));
}

Outcome Outcome::Requeue() {
  return Outcome(Kind::kRequeue, absl::CancelledError("given back unhandled"));
}

}  // namespace retryq
