#ifndef RETRYQ_SRC_RETRY_DELIVERY_REDELIVERIES_H_
#define RETRYQ_SRC_RETRY_DELIVERY_REDELIVERIES_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "retryq/amqp/message.h"
#include "retryq/retry_options.h"

namespace retryq {

// The deliveries before this one that nobody settled, as far as they count.
struct Redeliveries {
  std::uint64_t count = 0;
  // Whether the broker keeps the count, or forgets it and knows of one only.
  bool broker_counts = false;
  // How many of them ended as the handler exceeded the consumer timeout, as far as that is known.
  std::uint64_t timed_out = 0;
};

Redeliveries ReadRedeliveries(const amqp::Message& message, CountRedeliveries which);

// How often a quorum queue of 4.3 or newer has got `message` back without counting a failure: given
// back by basic.nack, or after a consumer timeout (F41, F42 in doc/rabbitmq_facts.md).
std::int64_t CountUncounted(const amqp::Message& message);

// As the error that they count as.
absl::Status WhyUnsettled(const Redeliveries& redeliveries);

// Whether `version`, such as "4.3.6", is that of a broker that does not count what is given back by
// basic.nack (F41), and no consumer timeouts either (F42).
bool CountsFailuresOnly(std::string_view version);

// Whether a message of one queue that is given back would count as failed.
class CountedReturns {
 public:
  explicit CountedReturns(CountRedeliveries which) : which_(which) {}

  // Of each delivery: what it shows of how its queue counts.
  void Learn(const amqp::Message& message);

  // `version`: of the broker; empty where it is not known.
  bool WouldCount(std::string_view version) const;

 private:
  const CountRedeliveries which_;
  // What has been seen: a redelivery without any count, which no quorum queue makes, or one with
  // `x-acquired-count`, which nothing before 4.3 makes.
  enum class Seen { kNothing, kNoCount, kAcquiredCount } seen_ = Seen::kNothing;
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_DELIVERY_REDELIVERIES_H_
