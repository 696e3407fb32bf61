#include "retry/retry_policy.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "retry/error_text.h"
#include "retry/next_delay.h"
#include "retryq/backoff.h"

namespace retryq {
namespace {

using Kind = RetryPolicy::Decision::Kind;

constexpr absl::Duration kShortestDelay = absl::Milliseconds(1);

// A delay that the handler chose, in whole milliseconds.
absl::Duration Clamp(absl::Duration asked, absl::Duration longest) {
  return std::clamp(absl::Ceil(asked, kShortestDelay), kShortestDelay,
                    absl::Floor(longest, kShortestDelay));
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

absl::Duration DelayAfter(const absl::Status& error, const BackoffOptions& backoff,
                          const Delivery::History& history, absl::Duration age, Random& random) {
  const Failure failure{.failures = history.failures,
                        .error = error,
                        // A message that was published with a delay has one too.
                        .previous_delay = history.failures > 0 ? history.delay : std::nullopt,
                        .age = age};
  return NextDelay(backoff, failure, random);
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

const ErrorRule* RetryPolicy::RuleFor(const absl::Status& error) const {
  const auto is_for_error = [&error](const ErrorRule& rule) {
    const bool code = rule.codes.empty() || std::find(rule.codes.begin(), rule.codes.end(),
                                                      error.code()) != rule.codes.end();
    if (!code || rule.matches == nullptr) return code;
    try {
      return rule.matches(error);
    } catch (...) {
      return false;
    }
  };
  const auto rule =
      std::find_if(options_.for_errors.begin(), options_.for_errors.end(), is_for_error);
  return rule == options_.for_errors.end() ? nullptr : &*rule;
}

RetryPolicy::Terms RetryPolicy::TermsOf(const ErrorRule* rule) const {
  if (rule == nullptr) return {options_.backoff, options_.max_attempts, options_.on_limit};
  return {rule->backoff ? *rule->backoff : options_.backoff,
          rule->max_attempts.value_or(options_.max_attempts),
          rule->on_limit.value_or(options_.on_limit)};
}

RetryPolicy::Decision RetryPolicy::Decide(const Outcome& outcome, const Delivery::History& history,
                                          absl::Time now, Random& random) const {
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
      RetryWithinLimits(history, now, TermsOf(RuleFor(status)), decision);
      break;
    case Outcome::Kind::kByStatus: {
      const ErrorRule* const rule = RuleFor(status);
      if (rule == nullptr && IsPermanent(status)) {
        decision.kind = KindOf(options_.on_permanent);
        break;
      }
      const Terms terms = TermsOf(rule);
      decision.delay =
          DelayAfter(status, terms.backoff, history, now - decision.first_failure, random);
      RetryWithinLimits(history, now, terms, decision);
      break;
    }
  }
  return decision;
}

RetryPolicy::Decision RetryPolicy::DecideUnsettled(const absl::Status& error,
                                                   const Delivery::History& history, absl::Time now,
                                                   Random& random) const {
  Decision decision;
  decision.first_failure = std::min(history.first_failure.value_or(now), now);
  decision.error = ErrorText(error);
  decision.reason = decision.error;
  decision.delay =
      DelayAfter(error, options_.backoff, history, now - decision.first_failure, random);
  RetryWithinLimits(history, now, TermsOf(nullptr), decision);
  return decision;
}

void RetryPolicy::RetryWithinLimits(const Delivery::History& history, absl::Time now,
                                    const Terms& terms, Decision& decision) const {
  const std::uint64_t calls = history.failures + 1;
  const bool too_often = terms.max_attempts != 0 && calls >= terms.max_attempts;
  const bool too_late = options_.max_age > absl::ZeroDuration() &&
                        now + decision.delay > decision.first_failure + options_.max_age;
  if (!too_often && !too_late) {
    decision.kind = Kind::kRetry;
    return;
  }
  decision.kind = KindOf(terms.on_limit);
  decision.delay = absl::ZeroDuration();
  decision.reason = absl::StrCat(
      "gave up after ", calls, calls == 1 ? " attempt" : " attempts",
      too_often ? ""
                : absl::StrCat(", as the next would start more than ",
                               absl::FormatDuration(options_.max_age), " after the first failure"),
      ": ", decision.error);
}

absl::Duration LongestDelay(const RetryOptions& options) {
  absl::Duration longest = std::max(LongestDelay(options.backoff), options.max_retry_after);
  for (const ErrorRule& rule : options.for_errors) {
    if (rule.backoff) longest = std::max(longest, LongestDelay(*rule.backoff));
  }
  return absl::Ceil(longest, absl::Milliseconds(1));
}

}  // namespace retryq
