#ifndef RETRYQ_SRC_RETRY_REDELIVERIES_H_
#define RETRYQ_SRC_RETRY_REDELIVERIES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "retryq/amqp/message.h"
#include "retryq/retry_options.h"

namespace retryq {

// The deliveries before this one that nobody settled, as far as they count.
struct Redeliveries {
  std::uint64_t count = 0;
  // Whether the broker keeps the count, or forgets it and knows of one only.
  bool broker_counts = false;
};

Redeliveries ReadRedeliveries(const amqp::Message& message, CountRedeliveries which);

// As the error that they count as.
absl::Status WhyUnsettled(const Redeliveries& redeliveries);

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_REDELIVERIES_H_
