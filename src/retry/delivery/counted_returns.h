#ifndef RETRYQ_SRC_RETRY_DELIVERY_COUNTED_RETURNS_H_
#define RETRYQ_SRC_RETRY_DELIVERY_COUNTED_RETURNS_H_

#include <optional>

#include "base/broker_version.h"
#include "retry/delivery/delivery_facts.h"
#include "retryq/retry_options.h"

namespace retryq {

// Determines whether requeueing a message of one queue would count as a failure of it.
class CountedReturns {
 public:
  explicit CountedReturns(CountRedeliveries which) : which_(which) {}

  // To be called for each delivery: its headers show how its queue counts.
  void Learn(const DeliveryFacts& facts) {
    if (!facts.redelivered) return;
    seen_ = facts.acquired_count > 0 ? Seen::kAcquiredCount
            : !facts.delivery_count  ? Seen::kNoCount
                                     : Seen::kNothing;
  }

  // To be called when it is known whether the queue counts deliveries.
  void LearnWhetherCounts(bool counts) { counts_ = counts; }
  std::optional<bool> counts() const { return counts_; }

  // `version` is the broker's.
  bool WouldCount(const BrokerVersion& version) const;

 private:
  const CountRedeliveries which_;
  std::optional<bool> counts_;
  // kNoCount: a redelivery without any count, as a quorum queue never makes. kAcquiredCount: a
  // redelivery with `x-acquired-count`, as queues before 4.3 never make.
  enum class Seen { kNothing, kNoCount, kAcquiredCount } seen_ = Seen::kNothing;
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_DELIVERY_COUNTED_RETURNS_H_
