#include "retry/policy/decide.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "absl/strings/str_cat.h"
#include "retry/delivery/error_text.h"
#include "retryq/backoff.h"
#include "retryq/broker/delay_grid.h"

namespace retryq {
namespace {

using Kind = Step::Kind;

constexpr absl::Duration kShortestDelay = absl::Milliseconds(1);

// Converts a delay that the handler chose to whole milliseconds within the limits.
absl::Duration Clamp(absl::Duration asked, absl::Duration longest) {
  return std::clamp(absl::Ceil(asked, kShortestDelay), kShortestDelay,
                    absl::Floor(longest, kShortestDelay));
}

absl::Duration PauseOf(const EarlyReturn& early) {
  return absl::Ceil(std::max(kShortestRound - early.stayed, absl::ZeroDuration()), kShortestDelay);
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
  switch (error.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kUnimplemented:
      return true;
    default:
      return false;
  }
}

absl::Time FirstFailure(const Delivery::History& history, absl::Time now) {
  return std::min(history.first_failure.value_or(now), now);
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

bool IsFor(const absl::Status& error, const ErrorRule& rule) {
  const bool code = rule.codes.empty() || std::find(rule.codes.begin(), rule.codes.end(),
                                                    error.code()) != rule.codes.end();
  if (!code || rule.matches == nullptr) return code;
  try {
    return rule.matches(error);
  } catch (...) {
    return false;
  }
}

const ErrorRule* RuleFor(const RetryOptions& options, const absl::Status& error) {
  for (const ErrorRule& rule : options.for_errors) {
    if (IsFor(error, rule)) return &rule;
  }
  return nullptr;
}

// The policy for one error: the first rule that matches it; fields that the rule does not set come
// from the options.
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

// Limits that end the retries of a message.
bool TooOften(const Terms& terms, std::uint64_t failures) {
  return terms.max_attempts != 0 && failures + 1 >= terms.max_attempts;
}
bool LimitsAge(const RetryOptions& options) { return options.max_age > absl::ZeroDuration(); }
bool TooLate(const RetryOptions& options, absl::Duration age, absl::Duration delay) {
  return LimitsAge(options) && age + delay > options.max_age;
}

// Whether a message that returned to its queue is already beyond the limits. If it were rejected
// again, it could return forever.
bool GivesUpBefore(const RetryOptions& options, const DeliveryFacts& facts) {
  const std::uint64_t failures = facts.history.failures;
  if (options.max_attempts != 0 && failures >= options.max_attempts) return true;
  return LimitsAge(options) &&
         TooLate(options, facts.read_at - FirstFailure(facts.history, facts.read_at),
                 absl::ZeroDuration());
}

// Decides between a retry after `step.delay` and giving up.
void RetryWithinLimits(const RetryOptions& options, const Delivery::History& history,
                       absl::Time now, const Terms& terms, Step& step) {
  const bool too_often = TooOften(terms, history.failures);
  const bool too_late =
      LimitsAge(options) && TooLate(options, now - step.first_failure, step.delay);
  if (!too_often && !too_late) {
    step.kind = Kind::kRetry;
    return;
  }
  const std::uint64_t calls = history.failures + 1;
  step.kind = KindOf(terms.on_limit);
  step.delay = absl::ZeroDuration();
  step.reason = absl::StrCat(
      "gave up after ", calls, calls == 1 ? " attempt" : " attempts",
      too_often ? ""
                : absl::StrCat(", because the next would start more than ",
                               absl::FormatDuration(options.max_age), " after the first failure"),
      ": ", step.error);
}

// Decides between a snooze of `step.delay` and giving up. A snooze is not a failure, but counts
// towards the age of a message that has failed before.
void SnoozeWithinAge(const RetryOptions& options, const Delivery::History& history, absl::Time now,
                     const absl::Status& why, Step& step) {
  step.kind = Kind::kSnooze;
  step.reason = std::string(why.message());
  step.error = absl::StrCat("snoozed", step.reason.empty() ? "" : ": ", step.reason);
  if (!history.first_failure || !TooLate(options, now - step.first_failure, step.delay)) return;
  step.kind = KindOf(options.on_limit);
  step.delay = absl::ZeroDuration();
  step.reason =
      absl::StrCat("gave up, because it would return more than ",
                   absl::FormatDuration(options.max_age), " after the first failure: ", step.error);
}

}  // namespace

RetryPolicy::RetryPolicy(RetryOptions options)
    : options_(std::move(options)), delays_(options_.backoff) {
  for (const ErrorRule& rule : options_.for_errors) {
    rule_delays_.emplace_back(TermsOf(options_, &rule).backoff);
  }
}

Step RetryPolicy::Decide(const DeliveryFacts& facts, Random& random) const {
  Step step;
  step.failures = facts.history.failures;
  if (facts.others_retry) {
    step.kind = Kind::kSkip;
    return step;
  }
  if (facts.left_out > 0) {
    step.kind = KindOf(options_.on_limit);
    step.first_failure = FirstFailure(facts.history, facts.read_at);
    step.error = step.reason = absl::StrCat("its body of ", facts.left_out,
                                            " bytes exceeds max_body, or the available memory");
    return step;
  }
  const bool is_early = facts.early && facts.early->left > absl::ZeroDuration();
  const absl::Duration pause = is_early ? PauseOf(*facts.early) : absl::ZeroDuration();
  const bool is_short = is_early && facts.left <= kShortestRound;
  if (!is_short && facts.left - pause >= DelayGrid::kShortestHop) {
    step.kind = Kind::kForward;
    step.delay = facts.left - pause;
    step.pause = pause;
    step.first_failure = facts.history.first_failure.value_or(facts.read_at);
    step.error = "it could not be forwarded for the rest of its delay";
    return step;
  }
  if (facts.came_back && GivesUpBefore(options_, facts)) {
    step.kind = options_.on_limit == OnLimit::kDiscard ? Kind::kDiscard : Kind::kPark;
    if (step.kind == Kind::kPark) step.pause = kShortestRound;
    step.failures -= 1;  // the step ends with the last failure
    step.first_failure = FirstFailure(facts.history, facts.read_at);
    step.error = facts.history.last_error.empty() ? "another queue has returned it"
                                                  : std::string(facts.history.last_error);
    step.reason = absl::StrCat("gave up after ", facts.history.failures,
                               " attempts, when it returned to its queue: ", step.error);
    return step;
  }
  if (facts.redeliveries.count > 0) {
    DecideUnsettled(facts, random, &step);
    if (step.kind != Kind::kRetry || !facts.redeliveries.broker_counts) return step;
    step = {.failures = SaturatingSum(step.failures, 1)};
  }
  if (facts.near_delivery_limit) {
    step.kind = Kind::kMove;
    step.first_failure = facts.history.first_failure.value_or(facts.read_at);
    step.error = "the broker keeps redelivering it, and no worker settles it";
    return step;
  }
  if (facts.left > absl::ZeroDuration()) {
    step.kind = Kind::kWait;
    step.delay = facts.left;
  }
  return step;
}

void RetryPolicy::DecideUnsettled(const DeliveryFacts& facts, Random& random, Step* step) const {
  Delivery::History history = facts.history;
  history.failures = SaturatingSum(history.failures, facts.redeliveries.count - 1);
  const absl::Status error = WhyUnsettled(facts.redeliveries);
  step->failures = history.failures;
  step->first_failure = FirstFailure(history, facts.read_at);
  step->error = ErrorText(error);
  step->reason = step->error;
  step->delay = DelayAfter(error, nullptr, history, facts.read_at, random);
  RetryWithinLimits(options_, history, facts.read_at, TermsOf(options_, nullptr), *step);
}

Step RetryPolicy::Decide(const Outcome& outcome, const Delivery::History& history, absl::Time now,
                         Random& random) const {
  Step step;
  Decide(outcome, history, now, random, &step);
  return step;
}

void RetryPolicy::Decide(const Outcome& outcome, const Delivery::History& history, absl::Time now,
                         Random& random, Step* step) const {
  step->Clear();
  const absl::Status& status = outcome.status();
  if (outcome.kind() == Outcome::Kind::kByStatus && status.ok()) {
    step->kind = Kind::kAck;
    return;
  }
  if (outcome.kind() == Outcome::Kind::kRequeue) {
    step->kind = Kind::kRequeue;
    return;
  }

  step->first_failure = FirstFailure(history, now);
  if (outcome.kind() == Outcome::Kind::kSnooze) {
    step->delay = Clamp(outcome.delay(), options_.max_retry_after);
    SnoozeWithinAge(options_, history, now, status, *step);
    return;
  }
  AssignErrorText(status, &step->error);
  step->reason = step->error;
  switch (outcome.kind()) {
    case Outcome::Kind::kRequeue:
    case Outcome::Kind::kSnooze:
      break;  // decided above
    case Outcome::Kind::kPark:
      step->kind = Kind::kPark;
      break;
    case Outcome::Kind::kDiscard:
      step->kind = Kind::kDiscard;
      break;
    case Outcome::Kind::kRetryAfter:
      step->transient = true;
      step->delay = Clamp(outcome.delay(), options_.max_retry_after);
      RetryWithinLimits(options_, history, now, TermsOf(options_, RuleFor(options_, status)),
                        *step);
      break;
    case Outcome::Kind::kByStatus: {
      const ErrorRule* const rule = RuleFor(options_, status);
      if (rule == nullptr && IsPermanent(options_, status)) {
        step->kind = KindOf(options_.on_permanent);
        break;
      }
      step->transient = true;
      step->delay = DelayAfter(status, rule, history, now, random);
      RetryWithinLimits(options_, history, now, TermsOf(options_, rule), *step);
      break;
    }
  }
}

absl::Duration RetryPolicy::DelayAfter(const absl::Status& error, const ErrorRule* rule,
                                       const Delivery::History& history, absl::Time now,
                                       Random& random) const {
  const FixedDelays& fixed =
      rule == nullptr ? delays_
                      : rule_delays_[static_cast<std::size_t>(rule - options_.for_errors.data())];
  if (const std::optional<absl::Duration> delay = fixed.After(history.failures)) return *delay;
  const Failure failure{.failures = history.failures,
                        .error = error,
                        // A message that was published with a delay has a delay too.
                        .previous_delay = history.failures > 0 ? history.delay : std::nullopt,
                        .age = now - FirstFailure(history, now)};
  return NextDelay(TermsOf(options_, rule).backoff, failure, random);
}

std::optional<absl::Duration> NextRetry(const RetryOptions& options, const Failure& failure,
                                        Random& random) {
  const ErrorRule* const rule = RuleFor(options, failure.error);
  if (rule == nullptr && IsPermanent(options, failure.error)) return std::nullopt;
  const Terms terms = TermsOf(options, rule);
  const absl::Duration delay = NextDelay(terms.backoff, failure, random);
  const bool given_up = TooOften(terms, failure.failures) || TooLate(options, failure.age, delay);
  return given_up ? std::nullopt : std::optional(delay);
}

absl::Duration LongestDelay(const RetryOptions& options) {
  absl::Duration longest =
      std::max<absl::Duration>(LongestDelay(options.backoff), options.max_retry_after);
  for (const ErrorRule& rule : options.for_errors) {
    if (rule.backoff) longest = std::max(longest, LongestDelay(*rule.backoff));
  }
  return absl::Ceil(longest, absl::Milliseconds(1));
}

}  // namespace retryq
