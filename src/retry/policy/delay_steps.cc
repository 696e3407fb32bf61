#include "retry/policy/delay_steps.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "retry/policy/next_delay.h"
#include "retryq/backoff.h"

namespace retryq {
namespace {

// The number of delays of a policy that are considered, for policies whose delays hardly grow.
constexpr std::uint64_t kMostFailures = 10'000;

}  // namespace

DelaySteps::DelaySteps(std::size_t max_delay_queues, bool exact_queues)
    : limit_(max_delay_queues),
      exact_queues_(exact_queues),
      grid_(max_delay_queues, exact_queues),
      steps_(grid_.steps()) {}

void DelaySteps::Add(const RetryOptions& policy) {
  if (!exact_queues_) return;
  last_delay_ = absl::ZeroDuration();
  Add(policy.backoff, policy.max_attempts);
  for (const ErrorRule& rule : policy.for_errors) {
    if (rule.backoff) Add(*rule.backoff, rule.max_attempts.value_or(policy.max_attempts));
  }
}

void DelaySteps::Add(const BackoffOptions& backoff, std::uint64_t max_attempts) {
  if (!IsForeseeable(backoff)) return;
  const std::uint64_t attempts = max_attempts == 0 ? kMostFailures : max_attempts - 1;
  const absl::Duration last = BackoffDelay(backoff, kMostFailures);
  for (std::uint64_t failures = 0; failures < std::min(attempts, kMostFailures); ++failures) {
    const absl::Duration delay = BackoffDelay(backoff, failures);
    const absl::Duration step = ShortestJittered(backoff, delay);
    const auto place = std::lower_bound(steps_.begin(), steps_.end(), step);
    if (place == steps_.end() || *place != step) {
      if (steps_.size() >= limit_) return;
      steps_.insert(place, step);
    }
    if (delay == last && failures >= backoff.delays.size()) return;
  }
}

Hop DelaySteps::Find(absl::Duration delay) const {
  // The shortest step is 1 ms, so there is one.
  const auto above = std::upper_bound(steps_.begin(), steps_.end(), delay);
  const absl::Duration ttl = *std::prev(above);
  return {.ttl = ttl, .left = delay - ttl};
}

}  // namespace retryq
