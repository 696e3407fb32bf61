#include "cli/plot/plot_style.h"

#include <sys/ioctl.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"

namespace retryq::cli {
namespace {

// Plots are unreadable outside these limits.
constexpr int kFewestColumns = 40;
constexpr int kMostColumns = 400;

// Returns a variable; empty if it is not set.
std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int ColumnsOfTerminal(int fd) {
  int columns = 0;
  if (absl::SimpleAtoi(Variable("COLUMNS"), &columns) && columns > 0) return columns;
  winsize size = {};
  if (::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return PlotStyle().columns;
}

bool SpeaksUnicode() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string locale = absl::AsciiStrToLower(Variable(name));
    if (locale.empty()) continue;
    return absl::StrContains(locale, "utf-8") || absl::StrContains(locale, "utf8");
  }
  return false;
}

}  // namespace

PlotStyle PlotStyleFor(int fd) {
  return {.columns = std::clamp(ColumnsOfTerminal(fd), kFewestColumns, kMostColumns),
          .unicode = SpeaksUnicode()};
}

}  // namespace retryq::cli
