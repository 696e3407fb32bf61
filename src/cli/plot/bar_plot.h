#ifndef RETRYQ_CLI_PLOT_BAR_PLOT_H_
#define RETRYQ_CLI_PLOT_BAR_PLOT_H_

#include <string>
#include <vector>

#include "cli/plot/plot_style.h"

namespace retryq::cli {

// A plot of numbers over time, as text.
struct BarPlot {
  std::string title;
  std::vector<double> values;  // at equal distances, not negative; at least one
  int height = 6;              // lines of bars
  // A range to mark below the plot, as parts of the whole from 0 to 1, and its name.
  double mark_begin = 0;
  double mark_end = 0;
  std::string mark;
  std::string end;  // label of the right end
};

// Returns lines of at most `style.columns`. Each column shows its largest value, and any value
// above zero is visible.
std::string Draw(const BarPlot& plot, const PlotStyle& style);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PLOT_BAR_PLOT_H_
