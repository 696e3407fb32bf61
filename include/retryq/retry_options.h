#ifndef RETRYQ_RETRY_OPTIONS_H_
#define RETRYQ_RETRY_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "retryq/backoff.h"

namespace retryq {

// What happens to a message that has failed too often, or for too long.
enum class OnLimit {
  kPark,     // to the parked queue
  kReject,   // rejected: to the queue's own dead-letter exchange, if it has one,
             // else gone
  kDiscard,  // acked and gone
};

// When and how often to retry.
struct RetryOptions {
  BackoffOptions backoff = {};

  // Calls of the handler for one message, the first included. 0 = no limit.
  std::uint64_t max_attempts = 25;

  // Time since the first failure after which no further retry starts. 0 = no limit.
  absl::Duration max_age = absl::ZeroDuration();

  OnLimit on_limit = OnLimit::kPark;

  // Errors that no retry will mend: those messages are parked at once. The default:
  // kInvalidArgument, kOutOfRange, kUnimplemented. Called on the loop's thread.
  std::function<bool(const absl::Status&)> permanent = nullptr;

  // If set, only these errors are retried; all others are permanent. Not together with `permanent`.
  std::function<bool(const absl::Status&)> retry_only = nullptr;

  // The longest delay that Outcome::RetryAfter may ask for; longer ones are cut to it. 1 ms to 3650
  // days.
  absl::Duration max_retry_after = absl::Hours(24);
};

// kInvalidArgument naming every wrong field, separated by "; ".
absl::Status Validate(const RetryOptions& options, const std::string& field = "retry");

}  // namespace retryq

#endif  // RETRYQ_RETRY_OPTIONS_H_
