#include "retry/retry_policy.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "retry/error_text.h"
#include "retryq/backoff.h"

namespace retryq {
namespace {

using Kind = RetryPolicy::Decision::Kind;

constexpr absl::Duration kShortestDelay = absl::Milliseconds(1);

// A delay that the handler chose: on the grid, unless that is beyond the longest.
absl::Duration Clamp(absl::Duration asked, absl::Duration longest) {
  const absl::Duration allowed = std::clamp(asked, kShortestDelay, longest);
  return std::min(RoundUpToGrid(allowed), absl::Floor(longest, kShortestDelay));
}

Kind KindOf(OnLimit on_limit) {
  switch (on_limit) {
    case OnLimit::kReject:
      return Kind::kReject;
    case OnLimit::kDiscard:
      return Kind::kDiscard;
    case OnLimit::kPark:
      break;
  }
  return Kind::kPark;
}

bool IsPermanentByDefault(const absl::Status& error) {
  return absl::IsInvalidArgument(error) || absl::IsOutOfRange(error) ||
         absl::IsUnimplemented(error);
}

}  // namespace

bool RetryPolicy::IsPermanent(const absl::Status& error) const {
  try {
    if (options_.permanent) return options_.permanent(error);
    if (options_.retry_only) return !options_.retry_only(error);
  } catch (...) {
    return false;
  }
  return IsPermanentByDefault(error);
}

RetryPolicy::Decision RetryPolicy::Decide(const Outcome& outcome, const Delivery::History& history,
                                          absl::Time now) const {
  const absl::Status& status = outcome.status();
  if (outcome.kind() == Outcome::Kind::kByStatus && status.ok()) return {.kind = Kind::kAck};
  if (outcome.kind() == Outcome::Kind::kRequeue) return {.kind = Kind::kRequeue};

  Decision decision;
  decision.first_failure = std::min(history.first_failure.value_or(now), now);
  decision.error = ErrorText(status);
  decision.reason = decision.error;
  switch (outcome.kind()) {
    case Outcome::Kind::kRequeue:
      break;  // decided above
    case Outcome::Kind::kPark:
      decision.kind = Kind::kPark;
      break;
    case Outcome::Kind::kDiscard:
      decision.kind = Kind::kDiscard;
      break;
    case Outcome::Kind::kRetryAfter:
      decision.delay = Clamp(outcome.delay(), options_.max_retry_after);
      RetryWithinLimits(history, now, decision);
      break;
    case Outcome::Kind::kByStatus:
      if (IsPermanent(status)) {
        decision.kind = Kind::kPark;
        break;
      }
      decision.delay = BackoffDelay(options_.backoff, history.failures);
      RetryWithinLimits(history, now, decision);
      break;
  }
  return decision;
}

void RetryPolicy::RetryWithinLimits(const Delivery::History& history, absl::Time now,
                                    Decision& decision) const {
  const std::uint64_t calls = history.failures + 1;
  const bool too_often = options_.max_attempts != 0 && calls >= options_.max_attempts;
  const bool too_late = options_.max_age > absl::ZeroDuration() &&
                        now + decision.delay > decision.first_failure + options_.max_age;
  if (!too_often && !too_late) {
    decision.kind = Kind::kRetry;
    return;
  }
  decision.kind = KindOf(options_.on_limit);
  decision.delay = absl::ZeroDuration();
  decision.reason = absl::StrCat(
      "gave up after ", calls, calls == 1 ? " attempt" : " attempts",
      too_often ? ""
                : absl::StrCat(", as the next would start more than ",
                               absl::FormatDuration(options_.max_age), " after the first failure"),
      ": ", decision.error);
}

absl::Duration LongestDelay(const RetryOptions& options) {
  const absl::Duration longest =
      std::max({options.backoff.base, options.backoff.max, options.max_retry_after});
  return absl::Ceil(longest, absl::Milliseconds(1));
}

}  // namespace retryq
