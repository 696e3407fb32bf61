#include "loop/libevent_ptr.h"

#include "support/test.h"

namespace retryq::libevent_ptr_test {

// A time that overflows is in the past: the loop would spin.
TEST(StartTimer, TreatsInfiniteAsACentury) {
  const EventBasePtr base(event_base_new());
  const EventPtr timer(evtimer_new(
      base.get(), [](evutil_socket_t, short, void*) {}, nullptr));
  StartTimer(timer.get(), absl::InfiniteDuration());
  timeval due = {};
  ASSERT_NE(event_pending(timer.get(), EV_TIMEOUT, &due), 0);
  timeval now = {};
  gettimeofday(&now, nullptr);
  const absl::Duration left = absl::DurationFromTimeval(due) - absl::DurationFromTimeval(now);
  EXPECT_GT(left, absl::Hours(24 * 365 * 99));
  EXPECT_LT(left, absl::Hours(24 * 365 * 101));
}

}  // namespace retryq::libevent_ptr_test
