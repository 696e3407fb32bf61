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
#include "retryq/export.h"
#include "retryq/random.h"

namespace retryq {

// What happens to a message that is given up: it has failed too often, for too long, or for good.
enum class OnLimit {
  kPark,     // to the parked queue
  kReject,   // rejected: to the queue's own dead-letter exchange, if it has one,
             // else gone
  kDiscard,  // acked and gone
};

// Another policy for some errors. What it does not set is as in RetryOptions.
//
//   {.codes = {absl::StatusCode::kResourceExhausted}, .backoff = BackoffOptions{…}}
struct ErrorRule {
  // The rule is for errors of one of these codes (none named: of any), for which `matches` (none:
  // always) returns true. At least one of the two must be set. `matches` is called on the loop's
  // thread; where it throws, the rule is not for that error.
  std::vector<absl::StatusCode> codes = {};
  std::function<bool(const absl::Status&)> matches = nullptr;

  std::optional<BackoffOptions> backoff = std::nullopt;

  // Calls of the handler for one message, whatever errors the others ended in: with 1 these errors
  // are not retried at all.
  std::optional<std::uint64_t> max_attempts = std::nullopt;

  std::optional<OnLimit> on_limit = std::nullopt;
};

// Which redeliveries count as failures: those of messages that a worker had and did not settle. It
// died of them, or of another one; or only its connection was lost.
enum class CountRedeliveries {
  kWhereCounted,  // those of quorum queues, which count them (`x-delivery-count`)
  kAlways,        // those of classic queues as well, as one each: these only say `redelivered`
  kNever,
};

// When and how often to retry.
struct RetryOptions {
  BackoffOptions backoff = {};

  // Calls of the handler for one message in one queue, the first included. 0 = no limit. Attempts
  // stay with the message while other queues have it: so a message that dead-letter exchanges lead
  // back, however often, is called for at most so many times in each queue that it meets, and then
  // parked (or discarded) when it comes back. With `share_retries` each failure gives a message to
  // all of n queues, and the sum is at most n + n^2 + … with `max_attempts` terms.
  std::uint64_t max_attempts = 25;

  // Time since the first failure after which no further retry starts. 0 = no limit.
  absl::Duration max_age = absl::ZeroDuration();

  OnLimit on_limit = OnLimit::kPark;

  // A message that kills its worker is redelivered with no failure counted, and kills the next one.
  // Counted, each redelivery is a failure, and the one that reaches `max_attempts` meets `on_limit`
  // without another call of the handler. kAlways: a message that a classic queue redelivers is
  // retried, with the delay that it would have after a failure, before the handler sees it again.
  // What a worker had prefetched when it died, or lost its connection, counts as well, and can be
  // given up together with the culprit: where messages kill workers keep `prefetch` small, and
  // `max_attempts` above the connections that are lost in a message's life.
  //
  // A handler that exceeds the broker's consumer timeout counts, too. RabbitMQ 4.3 and newer do not
  // count that: the consumer itself does, from memory, when the message comes to it again; with
  // several workers each further one may call its handler once or twice more. What is given back
  // (Outcome::Requeue, a graceful stop) never counts: before 4.3 it goes back as a copy to the end
  // of the queue where the broker would count it otherwise, except under a resource alarm.
  CountRedeliveries count_redeliveries = CountRedeliveries::kWhereCounted;

  // The headers in which messages bring a count of their failures from the retry system that was
  // here before: "x-retry-count", "x-message-retries", any name whose value is a number, as such or
  // as text; "x-delivery-count", what a quorum queue has counted; and "x-death", in which count
  // either the rejections by this queue or the times that the message expired in any other one,
  // whichever is more. The largest of them is where the count of retries goes on. Messages that
  // retryq has copied before, and replayed ones, go by its own headers alone; what is no natural
  // number counts as 0. Age begins with the first failure here. Up to 16 names of 1 to 255 bytes.
  //
  // A name that is no header is a path into nested tables, its keys separated by dots:
  // "rascal.recovery.orders.republished". A key may contain dots: in each table, from the headers
  // down, the longest key that the rest of the path begins with is followed. At most 32 levels.
  std::vector<std::string> earlier_counts = {};

  // Errors that retrying cannot fix: those messages are given up at once. The default:
  // kInvalidArgument, kOutOfRange, kUnimplemented. Called on the loop's thread.
  std::function<bool(const absl::Status&)> permanent = nullptr;

  // If set, only these errors are retried; all others are permanent. Not together with `permanent`.
  std::function<bool(const absl::Status&)> retry_only = nullptr;

  // The longest delay that Outcome::RetryAfter may ask for; longer ones are cut to it. 1 ms to 3650
  // days.
  absl::Duration max_retry_after = absl::Hours(24);

  // What becomes of messages with permanent errors. (Outcome::Park and Discard say it themselves.)
  OnLimit on_permanent = OnLimit::kPark;

  // Policies for some errors: the first rule that an error matches counts for it, and makes it one
  // that is retried, whatever `permanent` and `retry_only` say.
  std::vector<ErrorRule> for_errors = {};
};

// kInvalidArgument naming every wrong field, separated by "; ".
RETRYQ_EXPORT absl::Status Validate(const RetryOptions& options,
                                    const std::string& field = "retry");

// How long a message waits for its next attempt after `failure`, and nothing where it is given up:
// after an error that is not retried, or at a limit. It is what consumers go by, for callers
// that want to foresee what they will do. Calls the options' functions, and `random` where chance
// has a say. Needs valid options.
RETRYQ_EXPORT std::optional<absl::Duration> NextRetry(const RetryOptions& options,
                                                      const Failure& failure, Random& random);

}  // namespace retryq

#endif  // RETRYQ_RETRY_OPTIONS_H_
