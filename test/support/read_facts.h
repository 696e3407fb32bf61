#ifndef RETRYQ_TEST_SUPPORT_READ_FACTS_H_
#define RETRYQ_TEST_SUPPORT_READ_FACTS_H_

#include "retry/delivery/delivery_facts.h"
#include "retry/delivery/timed_out.h"
#include "retryq/amqp/message.h"
#include "retryq/broker/retrier.h"
#include "retryq/delivery.h"
#include "retryq/testing/simulated_time.h"
#include "support/test.h"

namespace retryq::testing {

// The facts that a consumer without memory of earlier deliveries reads.
inline DeliveryFacts ReadFactsOf(const amqp::Message& message, const RetrierOptions& options) {
  const SimulatedTime time;
  TimedOut timed_out;
  return ReadFacts(message, options, time, timed_out);
}

// The history in these facts.
inline Delivery::History ReadHistory(const amqp::Message& message, const std::string& queue,
                                     const std::vector<std::string>& former_queues = {}) {
  return ReadFactsOf(message, {.queue = queue, .former_queues = former_queues}).history;
}

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_SUPPORT_READ_FACTS_H_
