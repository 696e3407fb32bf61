#include "retry/client/held_clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mocks/mock_clock.h"
#include "retryq/testing/simulated_time.h"

namespace retryq {
namespace held_clock_test {

TEST(HeldClock, IsAsTheOtherWhileNothingHoldsIt) {
  testing::SimulatedTime time;
  const HeldClock clock(time);
  time.Advance(absl::Seconds(3));
  EXPECT_EQ(clock.Now(), time.Now());
  EXPECT_EQ(clock.SinceBoot(), time.SinceBoot());
  EXPECT_EQ(clock.Look().now, time.Now());
  EXPECT_EQ(clock.Look().since_boot, time.SinceBoot());
}

TEST(HeldClock, StandsStillWhileItIsHeldAndGoesOnWithTheOther) {
  testing::SimulatedTime time;
  HeldClock clock(time);
  const absl::Time now = time.Now();
  const absl::Duration since_boot = time.SinceBoot();
  {
    const HeldClock::Hold hold(clock);
    time.Advance(absl::Seconds(3));
    EXPECT_EQ(clock.Now(), now);
    EXPECT_EQ(clock.SinceBoot(), since_boot);
    EXPECT_EQ(clock.Look().now, now);
    EXPECT_EQ(clock.Look().since_boot, since_boot);
  }
  EXPECT_EQ(clock.Now(), now + absl::Seconds(3));
  EXPECT_EQ(clock.SinceBoot(), since_boot + absl::Seconds(3));
}

TEST(HeldClock, IsHeldAtAMomentThatWasSeenBefore) {
  testing::SimulatedTime time;
  HeldClock clock(time);
  const Moment moment = clock.Look();
  time.Advance(absl::Seconds(3));
  const HeldClock::Hold hold(clock, moment);
  EXPECT_EQ(clock.Now(), moment.now);
  EXPECT_EQ(clock.SinceBoot(), moment.since_boot);
}

TEST(HeldClock, AHoldWithinAHoldLooksAnewAndTheOuterOneGoesOn) {
  testing::SimulatedTime time;
  HeldClock clock(time);
  const absl::Time now = time.Now();
  const HeldClock::Hold outer(clock);
  time.Advance(absl::Seconds(3));
  {
    const HeldClock::Hold inner(clock);
    EXPECT_EQ(clock.Now(), now + absl::Seconds(3));
  }
  EXPECT_EQ(clock.Now(), now);
}

TEST(HeldClock, LooksOnceForAllWhoAsk) {
  const ::testing::StrictMock<MockClock> other;
  EXPECT_CALL(other, Now).WillOnce(::testing::Return(absl::FromUnixSeconds(1)));
  EXPECT_CALL(other, SinceBoot).WillOnce(::testing::Return(absl::Seconds(2)));
  HeldClock clock(other);
  const HeldClock::Hold hold(clock);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(clock.Now(), absl::FromUnixSeconds(1));
    EXPECT_EQ(clock.SinceBoot(), absl::Seconds(2));
  }
}

}  // namespace held_clock_test
}  // namespace retryq
