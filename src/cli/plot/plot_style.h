#ifndef RETRYQ_CLI_PLOT_PLOT_STYLE_H_
#define RETRYQ_CLI_PLOT_PLOT_STYLE_H_

namespace retryq::cli {

// What plots in text can be made of.
struct PlotStyle {
  int columns = 80;
  bool unicode = false;  // else ASCII alone
};

// For what is printed to `fd`: as wide as COLUMNS says, else as the terminal is, else 80; Unicode
// where LC_ALL, LC_CTYPE or LANG, the first that is set, says UTF-8.
PlotStyle PlotStyleFor(int fd);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PLOT_PLOT_STYLE_H_
