// The SVG image of a simulated outage.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "cli/plan/plan_command.h"
#include "cli/text/duration.h"

namespace retryq::cli {
namespace {

// Text has enough contrast on both backgrounds; blue and orange are distinct for the colour-blind.
constexpr char kStyle[] = R"(<style>
text { font-family: system-ui, sans-serif; font-size: 13px; fill: #24292f }
.note { fill: #57606a; font-size: 12px }
.ground { fill: #ffffff }
.grid { stroke: #d8dee4 }
.axis { stroke: #57606a }
.limit { stroke: #24292f; stroke-width: 1.5; stroke-dasharray: 6 4 }
.outage { fill: #6e7781; fill-opacity: 0.18 }
.line { fill: none; stroke-width: 1.5 }
.line.first { stroke: #0550ae }
.area.first { fill: #0969da; fill-opacity: 0.45 }
.line.second { stroke: #bc4c00 }
.area.second { fill: #f0a26b }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .note { fill: #9da7b1 }
  .ground { fill: #0d1117 }
  .grid { stroke: #30363d }
  .axis { stroke: #9da7b1 }
  .limit { stroke: #e6edf3 }
  .outage { fill: #8b949e; fill-opacity: 0.25 }
  .line.first { stroke: #79c0ff }
  .area.first { fill: #388bfd; fill-opacity: 0.55 }
  .line.second { stroke: #ffa657 }
  .area.second { fill: #b8591b }
}
</style>
)";

std::string EscapedForXml(std::string_view text) {
  return absl::StrReplaceAll(std::string(text),
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

// In tenths.
std::string Pixels(double number) { return absl::StrCat(std::nearbyint(number * 10) / 10); }

struct Point {
  double x;
  double y;
};
struct Box {
  double x;
  double y;
  double width;
  double height;
};

// Builds an SVG image that needs no other file: with a title and a description for screen readers.
// `look` is a class of kStyle.
class Svg {
 public:
  Svg(double width, double height, const std::string& title, const std::string& description)
      : svg_(absl::StrFormat(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %1$s %2$s\" width=\"%1$s\" "
            "height=\"%2$s\" role=\"img\" aria-labelledby=\"title description\">\n"
            "<title id=\"title\">%3$s</title>\n<desc id=\"description\">%4$s</desc>\n%5$s",
            Pixels(width), Pixels(height), EscapedForXml(title), EscapedForXml(description),
            kStyle)) {
    AddBox({.x = 0, .y = 0, .width = width, .height = height}, "ground");
  }

  // `anchor` is start, middle or end.
  void AddText(Point at, const char* anchor, const char* look, const std::string& text) {
    absl::StrAppendFormat(&svg_,
                          "<text class=\"%s\" x=\"%s\" y=\"%s\" text-anchor=\"%s\">%s</text>\n",
                          look, Pixels(at.x), Pixels(at.y), anchor, EscapedForXml(text));
  }
  void AddLine(Point from, Point to, const char* look) {
    absl::StrAppendFormat(&svg_, "<path class=\"%s\" d=\"M%s %sL%s %s\"/>\n", look, Pixels(from.x),
                          Pixels(from.y), Pixels(to.x), Pixels(to.y));
  }
  void AddBox(const Box& box, const char* look) {
    absl::StrAppendFormat(
        &svg_, "<rect class=\"area %s\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"/>\n", look,
        Pixels(box.x), Pixels(box.y), Pixels(box.width), Pixels(box.height));
  }
  // Adds values as steps: each is valid from its point to the x of the next, the last up to
  // `right`. The area below them, down to `floor`, is filled.
  void AddSteps(const std::vector<Point>& steps, double right, double floor, const char* look) {
    if (steps.empty()) return;
    std::string height = Pixels(steps.front().y);
    std::string path = absl::StrCat("M", Pixels(steps.front().x), " ", height);
    for (const Point& step : steps) {
      if (Pixels(step.y) == height) continue;
      height = Pixels(step.y);
      absl::StrAppend(&path, "H", Pixels(step.x), "V", height);
    }
    absl::StrAppendFormat(&svg_,
                          "<path class=\"area %1$s\" d=\"%2$sH%3$sV%4$sH%5$sZ\"/>\n"
                          "<path class=\"line %1$s\" d=\"%2$sH%3$s\"/>\n",
                          look, path, Pixels(right), Pixels(floor), Pixels(steps.front().x));
  }

  std::string Finish() && { return std::move(svg_) + "</svg>\n"; }

 private:
  std::string svg_;
};

// The marks of an axis from zero to `end`, which is above zero: whole numbers of calls or messages,
// at most `most`.
std::vector<double> NumberTicks(double end, int most) {
  double step = 1;  // 1, 2, 5, 10, 20, …
  for (int i = 0; std::floor(end / step) + 1 > most; ++i) step *= i % 3 == 1 ? 2.5 : 2;
  std::vector<double> ticks;
  for (int i = 0; i * step <= end; ++i) ticks.push_back(i * step);
  return ticks;
}

constexpr double kImageWidth = 860;

// Draws a box of the legend and its text. Returns the position of the next box.
double AddLegend(Svg& svg, double x, double y, const char* look, const char* meaning) {
  svg.AddBox({.x = x, .y = y - 10, .width = 14, .height = 11}, look);
  svg.AddText({x + 20, y}, "start", "note", meaning);
  return x + 130;
}

struct Panel {
  const char* title;
  double height;
  int most_ticks;
  std::uint64_t OutageReport::Sample::*number;
};

constexpr Panel kPanels[] = {
    {"Calls/s: the highest second of each sample", 200, 7, &OutageReport::Sample::most_calls},
    {"Messages that wait", 110, 4, &OutageReport::Sample::waiting},
    {"Messages parked so far", 70, 4, &OutageReport::Sample::parked}};

}  // namespace

std::vector<absl::Duration> TimeTicks(absl::Duration end, int most) {
  // In seconds; multiples of a day follow.
  constexpr double kSteps[] = {0.001, 0.002, 0.005, 0.01, 0.02, 0.05,  0.1,   0.2,   0.5,
                               1,     2,     5,     10,   15,   30,    60,    120,   300,
                               600,   900,   1800,  3600, 7200, 10800, 21600, 43200, 86400};
  absl::Duration step;
  for (const double seconds : kSteps) {
    step = absl::Seconds(seconds);
    if (end < most * step) break;
  }
  while (end >= most * step) step *= 2;
  std::vector<absl::Duration> ticks;
  for (int i = 0; i * step <= end; ++i) ticks.push_back(i * step);
  return ticks;
}

std::string OutageSvg(const OutageOptions& outage, const OutageReport& report) {
  constexpr double kLeft = 70;
  constexpr double kWidth = 760;
  constexpr double kRight = kLeft + kWidth;
  constexpr double kTop = 80;      // of the first panel
  constexpr double kBetween = 46;  // panels
  constexpr double kBelow = 60;    // the last panel
  constexpr int kMostTicks = 9;    // of time
  double height = kTop - kBetween + kBelow;
  for (const Panel& panel : kPanels) height += panel.height + kBetween;

  const std::string title = OutageTitle(outage);
  Svg svg(kImageWidth, height, "A simulated outage and its retries",
          absl::StrCat(title, ". ",
                       absl::StrReplaceAll(OutageSummary(outage, {&report}), {{"\n", ". "}})));
  svg.AddText({kLeft, 26}, "start", "text", title);
  double next = AddLegend(svg, kLeft, 50, "first", "calls");
  next = AddLegend(svg, next, 50, "second", "failed calls");
  next = AddLegend(svg, next, 50, "outage", "outage");
  if (!std::isinf(outage.capacity)) {
    svg.AddLine({next, 45}, {next + 15, 45}, "limit");
    svg.AddText({next + 20, 50}, "start", "note", "capacity");
  }
  const auto x = [&](absl::Duration time) {
    return kLeft + (kWidth * std::min(absl::FDivDuration(time, report.end), 1.0));
  };
  double floor = kTop;
  for (const Panel& panel : kPanels) {
    const double top = floor + (&panel == kPanels ? 0 : kBetween);
    floor = top + panel.height;
    double most = 1;
    for (const OutageReport::Sample& sample : report.samples) {
      most = std::max(most, static_cast<double>(sample.*panel.number));
    }
    most *= 1.05;
    const auto y = [&](double value) { return floor - (panel.height * value / most); };
    svg.AddText({kLeft, top - 10}, "start", "text", panel.title);
    const double begin = x(outage.begin());
    svg.AddBox({.x = begin, .y = top, .width = x(outage.end()) - begin, .height = panel.height},
               "outage");
    for (const double tick : NumberTicks(most, panel.most_ticks)) {
      svg.AddLine({kLeft, y(tick)}, {kRight, y(tick)}, "grid");
      svg.AddText({kLeft - 8, y(tick) + 4}, "end", "note", NumberText(tick));
    }
    svg.AddLine({kLeft, top}, {kLeft, floor}, "axis");
    const auto draw = [&](std::uint64_t OutageReport::Sample::*number, const char* look) {
      std::vector<Point> steps;
      for (std::size_t i = 0; i < report.samples.size(); ++i) {
        steps.push_back({x(static_cast<std::int64_t>(i) * report.interval),
                         y(static_cast<double>(report.samples[i].*number))});
      }
      svg.AddSteps(steps, kRight, floor, look);
    };
    draw(panel.number, "first");
    if (panel.number != &OutageReport::Sample::most_calls) continue;
    draw(&OutageReport::Sample::most_failures, "second");
    if (outage.capacity < most) {
      svg.AddLine({kLeft, y(outage.capacity)}, {kRight, y(outage.capacity)}, "limit");
    }
  }
  for (const absl::Duration time : TimeTicks(report.end, kMostTicks)) {
    svg.AddLine({x(time), floor}, {x(time), floor + 5}, "axis");
    svg.AddText({x(time), floor + 20}, "middle", "note", DurationText(time));
  }
  svg.AddLine({kLeft, floor}, {kRight, floor}, "axis");
  svg.AddText({kLeft + kWidth / 2, floor + 42}, "middle", "text", "time since the start");
  return std::move(svg).Finish();
}

}  // namespace retryq::cli
