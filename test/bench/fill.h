#ifndef RETRYQ_TEST_BENCH_FILL_H_
#define RETRYQ_TEST_BENCH_FILL_H_

#include "support/peer.h"
#include "support/standard.h"

namespace retryq::bench {

// Declares the queue, publishes persistent messages to it, evenly over the time `over` or as fast
// as possible, and waits for all confirms. Message ids are kIdPrefix and a number, from 0 on.
// Throws what CheckInterrupted throws.
void Fill(testing::Peer& peer, const std::string& queue, std::size_t messages,
          std::size_t body_size, absl::Duration over = absl::ZeroDuration(),
          const amqp::Table& arguments = {});

}  // namespace retryq::bench

#endif  // RETRYQ_TEST_BENCH_FILL_H_
