#include "cli/plot/bar_plot.h"

#include <gtest/gtest.h>

namespace retryq::cli {
namespace bar_plot_test {

BarPlot Example() {
  return {.title = "calls",
          .values = {0, 0, 10, 40, 40, 40, 20, 0.1, 0, 0},
          .height = 2,
          .mark_begin = 0.2,
          .mark_end = 0.6,
          .mark = "outage",
          .end = "10s"};
}

TEST(BarPlot, IsMadeOfBlocksWhereThereAreAny) {
  EXPECT_EQ(Draw(Example(), {.columns = 40, .unicode = true}),
            "calls\n"
            "      40 │         █████████\n"
            "         │      ▄▄▄████████████▁▁▁\n"
            "       0 └──────────────────────────────\n"
            "                ├─ outage ─┤         10s\n");
}

TEST(BarPlot, IsPlainAsciiElsewhere) {
  EXPECT_EQ(Draw(Example(), {.columns = 40, .unicode = false}),
            "calls\n"
            "      40 |         #########\n"
            "         |      :::############...\n"
            "       0 +------------------------------\n"
            "                |= outage =|         10s\n");
}

TEST(BarPlot, ShowsTheLargestOfTheValuesOfAColumn) {
  BarPlot plot{.title = "", .values = std::vector<double>(3000, 1.0), .height = 1};
  plot.values[1555] = 8;
  EXPECT_EQ(Draw(plot, {.columns = 40, .unicode = true}),
            "\n"
            "       8 │▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁█▁▁▁▁▁▁▁▁▁▁▁▁▁▁\n"
            "       0 └──────────────────────────────\n"
            "          \n");
}

TEST(BarPlot, OfNothingButZeroIsEmpty) {
  EXPECT_EQ(Draw({.title = "t", .values = {0}, .height = 1}, {.columns = 40, .unicode = true}),
            "t\n"
            "       0 │\n"
            "       0 └──────────────────────────────\n"
            "          \n");
}

}  // namespace bar_plot_test
}  // namespace retryq::cli
