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

bool IsPermanent(const RetryOptions& options, const absl::Status& error) {
  try {
    if (options.permanent) return options.permanent(error);
    if (options.retry_only) return !options.retry_only(error);
  } catch (...) {
    return false;
  }
  return IsPermanentByDefault(error);
}

const ErrorRule* RuleFor(const RetryOptions& options, const absl::Status& error) {
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
      std::find_if(options.for_errors.begin(), options.for_errors.end(), is_for_error);
  return rule == options.for_errors.end() ? nullptr : &*rule;
}

// What counts for one error: the first rule that is for it, completed by the options.
struct Terms {
  const BackoffOptions& backoff;
  std::uint64_t max_attempts;
  OnLimit on_limit;
};

Terms TermsOf(const RetryOptions& options, const ErrorRule* rule) {
  if (rule == nullptr) return {options.backoff, options.max_attempts, options.on_limit};
  return {rule->backoff ? *rule->backoff : options.backoff,
          rule->max_attempts.value_or(options.max_attempts),
          rule->on_limit.value_or(options.on_limit)};
}

enum class Limit { kNone, kAttempts, kAge };

// What keeps a message from being retried after this delay.
Limit LimitReached(const RetryOptions& options, const Terms& terms, std::uint64_t failures,
                   absl::Duration age, absl::Duration delay) {
  if (terms.max_attempts != 0 && failures + 1 >= terms.max_attempts) return Limit::kAttempts;
  const bool too_late = options.max_age > absl::ZeroDuration() && age + delay > options.max_age;
  return too_late ? Limit::kAge : Limit::kNone;
}

void RetryWithinLimits(const RetryOptions& options, const Delivery::History& history,
                       absl::Time now, const Terms& terms, RetryPolicy::Decision& decision) {
  const Limit limit =
      LimitReached(options, terms, history.failures, now - decision.first_failure, decision.delay);
  if (limit == Limit::kNone) {
    decision.kind = Kind::kRetry;
    return;
  }
  const std::uint64_t calls = history.failures + 1;
  decision.kind = KindOf(terms.on_limit);
  decision.delay = absl::ZeroDuration();
  decision.reason =
      absl::StrCat("gave up after ", calls, calls == 1 ? " attempt" : " attempts",
                   limit == Limit::kAttempts ? ""
                                             : absl::StrCat(", as the next would start more than ",
                                                            absl::FormatDuration(options.max_age),
                                                            " after the first failure"),
                   ": ", decision.error);
}

}  // namespace

RetryPolicy::Decision RetryPolicy::Decide(const Outcome& outcome, const Delivery::History& history,
                                          absl::Time now, Random& random) const {
  Decision decision;
  Decide(outcome, history, now, random, &decision);
  return decision;
}

void RetryPolicy::Decide(const Outcome& outcome, const Delivery::History& history, absl::Time now,
                         Random& random, Decision* decision) const {
  decision->Clear();
  const absl::Status& status = outcome.status();
  if (outcome.kind() == Outcome::Kind::kByStatus && status.ok()) return;
  if (outcome.kind() == Outcome::Kind::kRequeue) {
    decision->kind = Kind::kRequeue;
    return;
  }

  decision->first_failure = std::min(history.first_failure.value_or(now), now);
  AssignErrorText(status, &decision->error);
  decision->reason = decision->error;
  switch (outcome.kind()) {
    case Outcome::Kind::kRequeue:
      break;  // decided above
    case Outcome::Kind::kPark:
      decision->kind = Kind::kPark;
      break;
    case Outcome::Kind::kDiscard:
      decision->kind = Kind::kDiscard;
      break;
    case Outcome::Kind::kRetryAfter:
      decision->delay = Clamp(outcome.delay(), options_.max_retry_after);
      RetryWithinLimits(options_, history, now, TermsOf(options_, RuleFor(options_, status)),
                        *decision);
      break;
    case Outcome::Kind::kByStatus: {
      const ErrorRule* const rule = RuleFor(options_, status);
      if (rule == nullptr && IsPermanent(options_, status)) {
        decision->kind = KindOf(options_.on_permanent);
        break;
      }
      const Terms terms = TermsOf(options_, rule);
      decision->delay =
          DelayAfter(status, terms.backoff, history, now - decision->first_failure, random);
      RetryWithinLimits(options_, history, now, terms, *decision);
      break;
    }
  }
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
  RetryWithinLimits(options_, history, now, TermsOf(options_, nullptr), decision);
  return decision;
}

std::optional<absl::Duration> NextRetry(const RetryOptions& options, const Failure& failure,
                                        Random& random) {
  const ErrorRule* const rule = RuleFor(options, failure.error);
  if (rule == nullptr && IsPermanent(options, failure.error)) return std::nullopt;
  const Terms terms = TermsOf(options, rule);
  const absl::Duration delay = NextDelay(terms.backoff, failure, random);
  const Limit limit = LimitReached(options, terms, failure.failures, failure.age, delay);
  return limit == Limit::kNone ? std::optional(delay) : std::nullopt;
}

absl::Duration LongestDelay(const RetryOptions& options) {
  absl::Duration longest = std::max(LongestDelay(options.backoff), options.max_retry_after);
  for (const ErrorRule& rule : options.for_errors) {
    if (rule.backoff) longest = std::max(longest, LongestDelay(*rule.backoff));
  }
  return absl::Ceil(longest, absl::Milliseconds(1));
}

}  // namespace retryq
