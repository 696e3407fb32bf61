#include "cli/messages/progress.h"

#include <gtest/gtest.h>

#include <string>

namespace retryq::cli {
namespace progress_test {

class ProgressTest : public ::testing::Test {
 protected:
  Progress Make(bool is_terminal) {
    return Progress({.write = [this](std::string_view text) { written_.append(text); },
                     .is_terminal = is_terminal,
                     .width = 60,
                     .what = "orders.parked"});
  }

  std::string written_;
};

TEST_F(ProgressTest, PrintsNothingForShortWork) {
  Progress progress = Make(/*is_terminal=*/true);
  progress.Update(5, 10, absl::Milliseconds(100));
  progress.End();
  EXPECT_EQ(written_, "");
}

TEST_F(ProgressTest, WritesALineFromTimeToTimeIfThereIsNoTerminal) {
  Progress progress = Make(/*is_terminal=*/false);
  for (int second = 1; second <= 25; ++second) {
    progress.Update(static_cast<std::uint64_t>(second) * 100, 3000, absl::Seconds(second));
  }
  progress.Say("the broker accepts messages again");
  progress.End();
  EXPECT_EQ(written_,
            "orders.parked: 1000 of 3000, 100/s, 20s left\n"
            "orders.parked: 2000 of 3000, 100/s, 10s left\n"
            "orders.parked: the broker accepts messages again\n");
}

TEST(ProgressBar, FitsAnyWidth) {
  for (std::size_t width = 0; width < 120; ++width) {
    EXPECT_LE(ProgressBar(1, 3, absl::Seconds(1), width).size(), width);
  }
  EXPECT_EQ(ProgressBar(0, 0, absl::ZeroDuration(), 40),
            "[#####################] 100% 0 of 0, 0/s");
  EXPECT_EQ(ProgressBar(9, 3, absl::Seconds(1), 40), "[#####################] 100% 9 of 3, 9/s");
}

}  // namespace progress_test
}  // namespace retryq::cli
