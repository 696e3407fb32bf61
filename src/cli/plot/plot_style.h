#ifndef RETRYQ_CLI_PLOT_PLOT_STYLE_H_
#define RETRYQ_CLI_PLOT_PLOT_STYLE_H_

namespace retryq::cli {

// The size and characters of plots in text.
struct PlotStyle {
  int columns = 80;
  bool unicode = false;  // otherwise ASCII only
};

// The style for `fd`. The width is COLUMNS, otherwise that of the terminal, otherwise 80; Unicode
// if LC_ALL, LC_CTYPE or LANG, the first that is set, contains UTF-8.
PlotStyle PlotStyleFor(int fd);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PLOT_PLOT_STYLE_H_
