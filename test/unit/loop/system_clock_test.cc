#include "loop/system_clock.h"

#include "support/test.h"

namespace retryq::system_clock_test {

// The tolerance for the drift of the two clocks, and for the time between reading them.
constexpr absl::Duration kApart = absl::Milliseconds(100);

TEST(SystemClock, ReadsBothClocksTogether) {
  const SystemClock clock;
  const absl::Duration begin = clock.SinceBoot();
  int looks = 0;
  // Longer than the time for which the difference of the two clocks is cached.
  while (clock.SinceBoot() - begin < absl::Milliseconds(5)) {
    const absl::Duration boot_before = clock.SinceBoot();
    const absl::Time before = clock.Now();
    const Moment moment = clock.Look();
    EXPECT_THAT(moment.since_boot, AllOf(Ge(boot_before), Le(clock.SinceBoot())));
    EXPECT_THAT(moment.now, AllOf(Ge(before - kApart), Le(clock.Now() + kApart)));
    ++looks;
  }
  EXPECT_GT(looks, 0);
}

}  // namespace retryq::system_clock_test
