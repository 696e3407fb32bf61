#include "cli/plot/plot_style.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace retryq::cli {
namespace plot_style_test {

class PlotStyleTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG", "COLUMNS"}) ::unsetenv(name);
  }
  static void Set(const char* name, const char* value) { ::setenv(name, value, 1); }

  // Of what is no terminal.
  static PlotStyle Style() { return PlotStyleFor(-1); }
};

TEST_F(PlotStyleTest, IsEightyColumnsOfAsciiWhereNothingIsKnown) {
  EXPECT_EQ(Style().columns, 80);
  EXPECT_FALSE(Style().unicode);
}

TEST_F(PlotStyleTest, IsAsWideAsColumnsSays) {
  Set("COLUMNS", "120");
  EXPECT_EQ(Style().columns, 120);
}

TEST_F(PlotStyleTest, StaysReadableWhateverColumnsSays) {
  for (const char* wrong : {"0", "-5", "wide", ""}) {
    Set("COLUMNS", wrong);
    EXPECT_EQ(Style().columns, 80) << wrong;
  }
  Set("COLUMNS", "3");
  EXPECT_EQ(Style().columns, 40);
  Set("COLUMNS", "100000");
  EXPECT_EQ(Style().columns, 400);
}

TEST_F(PlotStyleTest, IsUnicodeWhereTheLocaleIs) {
  Set("LANG", "de_DE.UTF-8");
  EXPECT_TRUE(Style().unicode);
  Set("LANG", "C.utf8");
  EXPECT_TRUE(Style().unicode);
}

TEST_F(PlotStyleTest, TheFirstVariableThatIsSetCounts) {
  Set("LANG", "en_US.UTF-8");
  Set("LC_CTYPE", "C");
  EXPECT_FALSE(Style().unicode);
  Set("LC_ALL", "en_US.UTF-8");
  EXPECT_TRUE(Style().unicode);
  Set("LC_ALL", "");
  EXPECT_FALSE(Style().unicode);
}

}  // namespace plot_style_test
}  // namespace retryq::cli
