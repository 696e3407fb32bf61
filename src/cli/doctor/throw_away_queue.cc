#include "cli/doctor/throw_away_queue.h"

#include <cstdint>
#include <random>

namespace retryq::cli {
namespace {

constexpr std::int64_t kShortestTtl = 315'359'000'000;  // milliseconds
constexpr std::int64_t kLongestTtl = 315'359'999'999;

// The broker never frees the memory for names of quorum queues, so they all have the same TTL.
absl::Duration TtlOf(QueueType type) {
  if (type == QueueType::kQuorum) return absl::Milliseconds(kLongestTtl);
  std::random_device random;
  return absl::Milliseconds(
      std::uniform_int_distribution<std::int64_t>(kShortestTtl, kLongestTtl)(random));
}

}  // namespace

ThrowAwayQueue::ThrowAwayQueue(BrokerSession& session, const DelayQueueOptions& options,
                               const DelayTarget& target, absl::Duration lease)
    : session_(session),
      params_(DelayQueueDeclaration(TtlOf(options.queue_type), target, options)) {
  params_.queue.arguments.Set("x-expires", absl::ToInt64Milliseconds(lease));
}

ThrowAwayQueue::~ThrowAwayQueue() {
  // A queue that cannot be deleted expires.
  if (!declared_) return;
  session_.DeleteQueue(params_.queue.name).IgnoreError();
  session_.DeleteExchange(params_.exchange->name).IgnoreError();
}

absl::Status ThrowAwayQueue::Declare() {
  absl::Status status = session_.DeclareQueue(params_.queue).status();
  declared_ = declared_ || status.ok();
  return status;
}

absl::Status ThrowAwayQueue::Look() {
  return session_.DeclareQueue({.name = params_.queue.name, .passive = true}).status();
}

DeclareParams ThrowAwayForRights(const DelayQueueOptions& options, const DelayTarget& target,
                                 absl::Duration lease) {
  DeclareParams params = DelayQueueDeclaration(TtlOf(QueueType::kClassic), target, options);
  params.queue.arguments = {{"x-queue-type", "classic"},
                            {"x-dead-letter-exchange", target.dead_letter_exchange},
                            {"x-expires", absl::ToInt64Milliseconds(lease)}};
  return params;
}

bool IsThrowAway(const DelayQueueName& name) {
  return name.ttl >= absl::Milliseconds(kShortestTtl) &&
         name.ttl <= absl::Milliseconds(kLongestTtl);
}

}  // namespace retryq::cli
