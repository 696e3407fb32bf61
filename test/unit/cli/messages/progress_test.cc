#include "cli/messages/progress.h"

#include <gtest/gtest.h>

#include <string>

#include "cli/messages/pacer.h"

namespace retryq::cli {
namespace progress_test {

class ProgressTest : public ::testing::Test {
 protected:
  Progress Make(bool is_terminal) {
    return Progress({.write = [this](std::string_view text) { written_.append(text); },
                     .is_terminal = is_terminal,
                     .width = 60,
                     .what = "orders.parked"},
                    absl::Hours(5));
  }
  static absl::Duration At(absl::Duration elapsed) { return absl::Hours(5) + elapsed; }

  std::string written_;
};

TEST_F(ProgressTest, SaysNothingOfShortWork) {
  Progress progress = Make(/*is_terminal=*/true);
  progress.Update(5, 10, At(absl::Milliseconds(100)));
  progress.End();
  EXPECT_EQ(written_, "");
}

TEST_F(ProgressTest, DrawsABarAndTakesItAway) {
  Progress progress = Make(/*is_terminal=*/true);
  progress.Update(500, 2000, At(absl::Seconds(2)));
  progress.Update(501, 2000, At(absl::Seconds(2) + absl::Milliseconds(50)));  // too soon
  progress.End();
  progress.Update(600, 2000, At(absl::Seconds(9)));
  EXPECT_EQ(written_,
            "\r\x1b[K[######------------------]  25% 500 of 2000, 250/s, 6s left\r\x1b[K");
}

TEST_F(ProgressTest, WritesALineNowAndThenElsewhere) {
  Progress progress = Make(/*is_terminal=*/false);
  for (int second = 1; second <= 25; ++second) {
    progress.Update(static_cast<std::uint64_t>(second) * 100, 3000, At(absl::Seconds(second)));
  }
  progress.Say("the broker takes messages again");
  progress.End();
  EXPECT_EQ(written_,
            "orders.parked: 1000 of 3000, 100/s, 20s left\n"
            "orders.parked: 2000 of 3000, 100/s, 10s left\n"
            "orders.parked: the broker takes messages again\n");
}

TEST(ProgressBar, FitsAnyWidth) {
  for (std::size_t width = 0; width < 120; ++width) {
    EXPECT_LE(ProgressBar(1, 3, absl::Seconds(1), width).size(), width);
  }
  EXPECT_EQ(ProgressBar(0, 0, absl::ZeroDuration(), 40),
            "[#####################] 100% 0 of 0, 0/s");
  EXPECT_EQ(ProgressBar(9, 3, absl::Seconds(1), 40), "[#####################] 100% 9 of 3, 9/s");
}

TEST(Pacer, SpreadsStepsEvenly) {
  Pacer pacer(10);
  absl::Duration now = absl::Hours(1);
  EXPECT_LE(pacer.Wait(now), absl::ZeroDuration());
  for (int i = 0; i < 100; ++i) {
    now += std::max(pacer.Wait(now), absl::ZeroDuration());
    pacer.Step(now);
  }
  EXPECT_GE(now - absl::Hours(1), absl::Seconds(9.8));
  EXPECT_LE(now - absl::Hours(1), absl::Seconds(10));
}

TEST(Pacer, MakesUpForLateTimersAndForNoMore) {
  Pacer pacer(1000);
  absl::Duration now = absl::Hours(1);
  pacer.Step(now);
  now += absl::Minutes(1);
  int at_once = 0;
  for (; pacer.Wait(now) <= absl::ZeroDuration(); ++at_once) pacer.Step(now);
  EXPECT_EQ(at_once, 51);
}

TEST(Pacer, WithoutARateNeverWaits) {
  Pacer pacer(0);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_LE(pacer.Wait(absl::Hours(1)), absl::ZeroDuration());
    pacer.Step(absl::Hours(1));
  }
}

}  // namespace progress_test
}  // namespace retryq::cli
