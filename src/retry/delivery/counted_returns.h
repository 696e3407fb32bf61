#ifndef RETRYQ_SRC_RETRY_DELIVERY_COUNTED_RETURNS_H_
#define RETRYQ_SRC_RETRY_DELIVERY_COUNTED_RETURNS_H_

#include <optional>

#include "base/broker_version.h"
#include "retry/delivery/delivery_facts.h"
#include "retryq/retry_options.h"

namespace retryq {

// Determines whether the broker would count a requeue of a message of this queue as a failure.
class CountedReturns {
 public:
  explicit CountedReturns(CountRedeliveries which) : which_(which) {}

  // Call it for each delivery: the headers show how the queue counts.
  void Learn(const DeliveryFacts& facts) {
    if (!facts.redelivered) return;
    seen_ = facts.acquired_count > 0 ? Seen::kAcquiredCount
            : !facts.delivery_count  ? Seen::kNoCount
                                     : Seen::kNothing;
  }

  // Call it when it is known whether the queue counts deliveries.
  void LearnWhetherCounts(bool counts) { counts_ = counts; }
  std::optional<bool> counts() const { return counts_; }

  // `version` is the broker's.
  bool WouldCount(const BrokerVersion& version) const {
    switch (which_) {
      case CountRedeliveries::kNever:
        return false;
      case CountRedeliveries::kAlways:
        return seen_ != Seen::kAcquiredCount;
      case CountRedeliveries::kWhereCounted:
        if (counts_ == false) return false;
        return seen_ == Seen::kNothing && version.is_known() && !version.CountsFailuresOnly();
    }
    return false;
  }

 private:
  const CountRedeliveries which_;
  std::optional<bool> counts_;
  // kNoCount: a redelivery without any count, which never comes from a quorum queue.
  // kAcquiredCount: a redelivery with `x-acquired-count`, which never comes from a queue before
  // 4.3.
  enum class Seen { kNothing, kNoCount, kAcquiredCount } seen_ = Seen::kNothing;
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_DELIVERY_COUNTED_RETURNS_H_
