#include "cli/plot/number_text.h"

#include <gtest/gtest.h>

namespace retryq::cli {
namespace number_text_test {

TEST(NumberText, HasAtMostSixCharacters) {
  EXPECT_EQ(NumberText(0), "0");
  EXPECT_EQ(NumberText(0.25), "0.25");
  EXPECT_EQ(NumberText(1.5), "1.5");
  EXPECT_EQ(NumberText(42), "42");
  EXPECT_EQ(NumberText(9999), "9999");
  EXPECT_EQ(NumberText(9999.7), "10k");
  EXPECT_EQ(NumberText(12'345), "12.3k");
  EXPECT_EQ(NumberText(999'949), "999.9k");
  EXPECT_EQ(NumberText(999'999), "1M");
  EXPECT_EQ(NumberText(1'250'000), "1.2M");
  EXPECT_EQ(NumberText(2e9), "2G");
}

TEST(NumberText, KeepsTheZerosOfWholeNumbers) { EXPECT_EQ(NumberText(2000), "2000"); }

}  // namespace number_text_test
}  // namespace retryq::cli
