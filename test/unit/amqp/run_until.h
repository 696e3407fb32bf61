#ifndef RETRYQ_TEST_UNIT_AMQP_RUN_UNTIL_H_
#define RETRYQ_TEST_UNIT_AMQP_RUN_UNTIL_H_

#include "retryq/event_loop.h"
#include "support/test.h"

namespace retryq::amqp {

// Runs the loop until the condition, which is looked at all the time, holds. Throws if it does not
// within a minute.
inline void RunUntil(EventLoop& loop, const std::function<bool()>& condition) {
  const absl::Duration end = loop.clock().SinceBoot() + absl::Minutes(1);
  std::unique_ptr<Timer> timer;
  const std::function<void()> look = [&] {
    if (condition() || loop.clock().SinceBoot() > end) return loop.Stop();
    timer = loop.After(absl::Microseconds(100), look);
  };
  timer = loop.After(absl::ZeroDuration(), look);
  EXPECT_EQ(loop.Run(), absl::OkStatus());
  if (!condition()) throw std::runtime_error("the condition never came true");
}

// What a callback does that takes its time on the loop.
inline void SpinFor(const EventLoop& loop, absl::Duration time) {
  const absl::Duration end = loop.clock().SinceBoot() + time;
  while (loop.clock().SinceBoot() < end) {
  }
}

}  // namespace retryq::amqp

#endif  // RETRYQ_TEST_UNIT_AMQP_RUN_UNTIL_H_
