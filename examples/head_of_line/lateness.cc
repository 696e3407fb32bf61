#include "head_of_line/lateness.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace head_of_line {
namespace {

// The plot's rectangle inside the image.
constexpr double kLeft = 60;
constexpr double kTop = 40;
constexpr double kWidth = 700;
constexpr double kHeight = 320;

std::string Text(double x, double y, const char* anchor, const std::string& text) {
  return absl::StrFormat("<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor,
                         text);
}

// A whole number of seconds above all values.
double SecondsAbove(const std::vector<Series>& all, absl::Duration Arrival::*field) {
  absl::Duration most = absl::Seconds(1);
  for (const Series& series : all) {
    for (const Arrival& arrival : series.arrivals) most = std::max(most, arrival.*field);
  }
  return std::ceil(absl::ToDoubleSeconds(most));
}

}  // namespace

absl::Duration Quantile(const Series& series, double part) {
  if (series.arrivals.empty()) return absl::ZeroDuration();
  std::vector<absl::Duration> late;
  for (const Arrival& arrival : series.arrivals) late.push_back(arrival.late);
  std::sort(late.begin(), late.end());
  const double last = static_cast<double>(late.size() - 1);
  return late[static_cast<std::size_t>(std::lround(part * last))];
}

std::string Svg(const std::vector<Series>& all) {
  const double seconds_sent = SecondsAbove(all, &Arrival::sent);
  const double seconds_late = SecondsAbove(all, &Arrival::late);
  const auto x = [&](double seconds) { return kLeft + kWidth * seconds / seconds_sent; };
  const auto y = [&](double seconds) { return kTop + kHeight - kHeight * seconds / seconds_late; };

  std::string svg =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 800 420\" "
      "font-family=\"sans-serif\" "
      "font-size=\"13\" fill=\"#333\">\n<rect width=\"800\" height=\"420\" fill=\"#fff\"/>\n";
  svg += Text(kLeft, 20, "start", "how late each message came back, in seconds");
  for (double seconds = 0; seconds <= seconds_late; ++seconds) {
    absl::StrAppendFormat(&svg, "<path d=\"M%.0f %.1fh%.0f\" stroke=\"#ddd\"/>\n", kLeft,
                          y(seconds), kWidth);
    svg += Text(kLeft - 8, y(seconds) + 4, "end", absl::StrCat(seconds));
  }
  for (double seconds = 0; seconds <= seconds_sent; ++seconds) {
    svg += Text(x(seconds), kTop + kHeight + 18, "middle", absl::StrCat(seconds));
  }
  svg += Text(kLeft + kWidth, kTop + kHeight + 36, "end", "sent at this second");
  double legend = kLeft + 300;
  for (const Series& series : all) {
    absl::StrAppendFormat(&svg, "<circle cx=\"%.0f\" cy=\"16\" r=\"5\" fill=\"%s\"/>\n", legend,
                          series.color);
    svg += Text(legend + 10, 20, "start", series.name);
    legend += 250;
    absl::StrAppend(&svg, "<g fill=\"", series.color, "\" fill-opacity=\"0.6\">\n");
    for (const Arrival& arrival : series.arrivals) {
      absl::StrAppendFormat(&svg, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\"/>\n",
                            x(absl::ToDoubleSeconds(arrival.sent)),
                            y(absl::ToDoubleSeconds(arrival.late)));
    }
    svg += "</g>\n";
  }
  return svg + "</svg>\n";
}

}  // namespace head_of_line
