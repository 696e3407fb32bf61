#ifndef RETRYQ_SRC_RETRY_DELIVERY_COUNTED_RETURNS_H_
#define RETRYQ_SRC_RETRY_DELIVERY_COUNTED_RETURNS_H_

#include <optional>
#include <string_view>

#include "retry/delivery/delivery_facts.h"
#include "retryq/retry_options.h"

namespace retryq {

// Whether `version`, such as "4.0.5", is this one or later; what is no version is not.
bool IsVersion(std::string_view version, int major, int minor);

// Whether `version`, such as "4.3.6", is that of a broker that does not count what is given back by
// basic.nack, and no consumer timeouts either (F41, F42 in doc/rabbitmq_facts.md).
bool CountsFailuresOnly(std::string_view version);

// Whether a message of one queue that is given back would count as failed.
class CountedReturns {
 public:
  explicit CountedReturns(CountRedeliveries which) : which_(which) {}

  // Of each delivery: what it shows of how its queue counts.
  void Learn(const DeliveryFacts& facts) {
    if (!facts.redelivered) return;
    seen_ = facts.acquired_count > 0 ? Seen::kAcquiredCount
            : !facts.delivery_count  ? Seen::kNoCount
                                     : Seen::kNothing;
  }

  // Whether its queue counts deliveries, once that is known for certain.
  void LearnWhetherCounts(bool counts) { counts_ = counts; }
  std::optional<bool> counts() const { return counts_; }

  // `version`: of the broker; empty where it is not known.
  bool WouldCount(std::string_view version) const;

 private:
  const CountRedeliveries which_;
  std::optional<bool> counts_;
  // What has been seen: a redelivery without any count, which no quorum queue makes, or one with
  // `x-acquired-count`, which nothing before 4.3 makes.
  enum class Seen { kNothing, kNoCount, kAcquiredCount } seen_ = Seen::kNothing;
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_DELIVERY_COUNTED_RETURNS_H_
