#ifndef RETRYQ_TEST_BENCH_FILL_H_
#define RETRYQ_TEST_BENCH_FILL_H_

#include "bench/baselines/workload.h"
#include "bench/program.h"
#include "support/peer.h"
#include "support/standard.h"

namespace retryq::bench {

// Declares the queue, publishes persistent messages to it, evenly over the time `over` or as fast
// as possible, and waits for all confirms. Message ids are kIdPrefix and a number, from 0 on.
// Throws what CheckInterrupted throws.
inline void Fill(testing::Peer& peer, const std::string& queue, std::size_t messages,
                 std::size_t body_size, absl::Duration over = absl::ZeroDuration(),
                 const amqp::Table& arguments = {}) {
  constexpr std::size_t kConfirmEvery = 1'000;
  constexpr absl::Duration kTick = absl::Milliseconds(2);
  peer.DeclareQueue(queue, arguments);
  const std::string body(body_size, 'x');
  const absl::Time begin = absl::Now();
  for (std::size_t i = 0; i < messages; ++i) {
    while (absl::Now() - begin < over * static_cast<double>(i) / static_cast<double>(messages)) {
      absl::SleepFor(kTick);
    }
    const std::string id = absl::StrCat(kIdPrefix, absl::Dec(i, absl::kZeroPad10));
    peer.Send("", queue, body,
              {.content_type = "application/json", .delivery_mode = 2, .message_id = id});
    if (i % kConfirmEvery == 0) {
      peer.AwaitConfirms();
      CheckInterrupted();
    }
  }
  peer.AwaitConfirms();
}

}  // namespace retryq::bench

#endif  // RETRYQ_TEST_BENCH_FILL_H_
