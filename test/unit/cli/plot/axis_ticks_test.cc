#include "cli/plot/axis_ticks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace retryq::cli {
namespace axis_ticks_test {

using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(NumberTicks, AreRound) {
  EXPECT_THAT(NumberTicks(2100, 7), ElementsAre(0, 500, 1000, 1500, 2000));
  EXPECT_THAT(NumberTicks(1.05, 4), ElementsAre(0, 0.5, 1));
  EXPECT_THAT(NumberTicks(120'000, 4), ElementsAre(0, 50'000, 100'000));
}

TEST(NumberTicks, AreNeverTooManyNorTooFew) {
  for (double end = 0.01; end < 1e12; end *= 1.07) {
    for (const int most : {4, 7}) {
      const auto ticks = NumberTicks(end, most);
      EXPECT_LE(ticks.size(), static_cast<std::size_t>(most)) << end;
      EXPECT_GE(ticks.size(), 2U) << end;
      EXPECT_LE(ticks.back(), end);
    }
  }
}

TEST(TimeTicks, AreWhatPeopleSay) {
  EXPECT_THAT(
      TimeTicks(absl::Seconds(100), 9),
      ElementsAre(absl::ZeroDuration(), absl::Seconds(15), absl::Seconds(30), absl::Seconds(45),
                  absl::Seconds(60), absl::Seconds(75), absl::Seconds(90)));
  EXPECT_THAT(TimeTicks(absl::Minutes(25), 4),
              ElementsAre(absl::ZeroDuration(), absl::Minutes(10), absl::Minutes(20)));
}

TEST(TimeTicks, AreNeverTooManyNorTooFew) {
  for (absl::Duration end = absl::Milliseconds(1); end < absl::Hours(24 * 36'500); end *= 1.09) {
    const auto ticks = TimeTicks(end, 9);
    EXPECT_LE(ticks.size(), 9U) << end;
    EXPECT_GE(ticks.size(), 2U) << end;
    EXPECT_LE(ticks.back(), end);
  }
}

}  // namespace axis_ticks_test
}  // namespace retryq::cli
