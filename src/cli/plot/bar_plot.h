#ifndef RETRYQ_CLI_PLOT_BAR_PLOT_H_
#define RETRYQ_CLI_PLOT_BAR_PLOT_H_

#include <string>
#include <vector>

#include "cli/plot/plot_style.h"

namespace retryq::cli {

// Numbers over time as a plot in text.
struct BarPlot {
  std::string title;
  std::vector<double> values;  // at equal distances, not negative; at least one
  int height = 6;              // lines of bars
  // A stretch to mark below, as parts of the whole, 0 to 1, and what it is called.
  double mark_begin = 0;
  double mark_end = 0;
  std::string mark;
  std::string end;  // what the right end is called
};

// Lines of at most `style.columns`. Each column shows the largest of its values, and anything above
// zero can be seen.
std::string Draw(const BarPlot& plot, const PlotStyle& style);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PLOT_BAR_PLOT_H_
