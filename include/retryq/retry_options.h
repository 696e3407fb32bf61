#ifndef RETRYQ_RETRY_OPTIONS_H_
#define RETRYQ_RETRY_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "retryq/backoff.h"
#include "retryq/broker/random.h"
#include "retryq/duration.h"
#include "retryq/export.h"

namespace retryq {

// What happens to a message that is given up because it has failed too often, for too long, or
// permanently.
enum class OnLimit {
  kPark,     // moved to the parked queue
  kReject,   // rejected: to the queue's own dead-letter exchange, if it has one, otherwise dropped
  kDiscard,  // acked and dropped
};

// A different policy for some errors. Fields that are not set are taken from RetryOptions.
//
//   {.codes = {absl::StatusCode::kResourceExhausted}, .backoff = BackoffOptions{…}}
struct ErrorRule {
  // The rule matches errors that have one of these codes (empty: any code) and for which `matches`
  // (null: always) returns true. At least one of the two must be set. `matches` is called on the
  // loop's thread; if it throws, the rule does not match that error.
  std::vector<absl::StatusCode> codes = {};
  std::function<bool(const absl::Status&)> matches = nullptr;

  std::optional<BackoffOptions> backoff = std::nullopt;

  // Maximum number of handler calls for one message, including calls that ended in other errors:
  // with 1, these errors are not retried at all.
  std::optional<std::uint64_t> max_attempts = std::nullopt;

  std::optional<OnLimit> on_limit = std::nullopt;
};

// Which redeliveries count as failures. A message is redelivered if a worker received it and did
// not settle it: the message or another message killed the worker, or the worker only lost its
// connection.
enum class CountRedeliveries {
  kWhereCounted,  // those from quorum queues, which count them (`x-delivery-count`)
  kAlways,        // also those from classic queues, one failure each: these only set `redelivered`
  kNever,
};

// When and how often to retry.
struct RetryOptions {
  BackoffOptions backoff = {};

  // Maximum number of handler calls for one message in one queue, including the first. 0:
  // unlimited. A message keeps its count for a queue while it is in other queues. So even if
  // dead-letter exchanges return it again and again, the handler is called at most this many times
  // in each queue that it reaches; then the message is parked (or discarded) when it returns. With
  // `share_retries`, each failure sends a message to all of n queues, and the total number of calls
  // is at most n + n^2 + … with `max_attempts` terms.
  std::uint64_t max_attempts = 25;

  // Time since the first failure after which no further retry starts. 0: unlimited.
  Duration max_age = absl::ZeroDuration();

  OnLimit on_limit = OnLimit::kPark;

  // A message that kills its worker is redelivered without a counted failure, and kills the next
  // worker. If redeliveries count, each redelivery is a failure; when one reaches `max_attempts`,
  // `on_limit` applies without another call of the handler. kAlways: a message that a classic queue
  // redelivers is retried, with the delay that it would have after a failure, before the handler
  // gets it again. Messages that a worker had prefetched when it died or lost its connection count
  // as well, and can be given up together with the message that killed the worker: if messages kill
  // workers, keep `prefetch` small, and `max_attempts` above the number of lost connections that a
  // message may see.
  //
  // A handler that exceeds the broker's consumer timeout counts, too. RabbitMQ 4.3 and newer do not
  // count it. The consumer itself remembers the timeout, and counts it when the message is
  // delivered to it again; with several workers, each further worker may call its handler once or
  // twice more. Requeued messages (Outcome::Requeue, a graceful stop) never count: if a broker
  // before 4.3 would count a requeue, the message returns as a copy to the end of the queue, except
  // under a resource alarm.
  CountRedeliveries count_redeliveries = CountRedeliveries::kWhereCounted;

  // Headers with a failure count from the retry system that was used before: "x-retry-count",
  // "x-message-retries", any name whose value is a number or a number as text; "x-delivery-count",
  // the count of a quorum queue; and "x-death", in which either the rejections by this queue or the
  // expirations in other queues count, whichever are more. The retry count continues from the
  // largest of them. For messages that retryq has copied before, and for replayed ones, only
  // retryq's own headers count; a value that is not a natural number counts as 0. The age begins
  // with the first failure here. Up to 16 names of 1 to 255 bytes.
  //
  // A name that is not a header is a path into nested tables, its keys separated by dots:
  // "rascal.recovery.orders.republished". A key may contain dots: in each table, from the headers
  // down, retryq follows the longest key with which the rest of the path begins. At most 32 levels.
  std::vector<std::string> earlier_counts = {};

  // Returns whether an error is permanent, so that retrying cannot fix it: these messages are given
  // up at once. Null: kInvalidArgument, kOutOfRange and kUnimplemented are permanent. Called on the
  // loop's thread.
  std::function<bool(const absl::Status&)> permanent = nullptr;

  // If set, only errors for which it returns true are retried; all others are permanent. Cannot be
  // combined with `permanent`.
  std::function<bool(const absl::Status&)> retry_only = nullptr;

  // The longest delay that Outcome::RetryAfter may request; longer ones are reduced to it. 1 ms to
  // 3650 days.
  Duration max_retry_after = absl::Hours(24);

  // What happens to messages with permanent errors. (Outcome::Park and Discard decide this
  // themselves.)
  OnLimit on_permanent = OnLimit::kPark;

  // Policies for some errors: the first rule that matches an error applies. Errors that match a
  // rule are retried, whatever `permanent` and `retry_only` return.
  std::vector<ErrorRule> for_errors = {};
};

// kInvalidArgument names every invalid field, separated by "; ".
RETRYQ_EXPORT absl::Status Validate(const RetryOptions& options,
                                    const std::string& field = "retry");

// Returns how long a message waits for its next attempt after `failure`; nullopt if it is given up,
// after an error that is not retried or at a limit. Consumers use this function, so callers can
// predict their decisions with it. Calls the options' functions, and `random` if the delay has a
// random part. Needs valid options.
RETRYQ_EXPORT std::optional<absl::Duration> NextRetry(const RetryOptions& options,
                                                      const Failure& failure, Random& random);

}  // namespace retryq

#endif  // RETRYQ_RETRY_OPTIONS_H_
