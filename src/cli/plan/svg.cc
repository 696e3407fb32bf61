#include "cli/plan/svg.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace retryq::cli {
namespace {

// Text has enough contrast on both backgrounds; blue and orange are distinct for the colour-blind.
constexpr char kStyle[] = R"(<style>
text { font-family: system-ui, sans-serif; font-size: 13px; fill: #24292f }
.strong { font-weight: 600; font-size: 15px }
.note { fill: #57606a; font-size: 12px }
.ground { fill: #ffffff }
.grid { stroke: #d8dee4; stroke-width: 1 }
.axis { stroke: #57606a; stroke-width: 1 }
.limit { stroke: #24292f; stroke-width: 1.5; stroke-dasharray: 6 4 }
.outage { fill: #6e7781; fill-opacity: 0.18 }
.line { fill: none; stroke-width: 1.5 }
.line.first { stroke: #0550ae }
.area.first { fill: #0969da; fill-opacity: 0.45 }
.line.second { stroke: #bc4c00 }
.area.second { fill: #f0a26b }
.area.maybe { fill: #0969da; fill-opacity: 0.2 }
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
  .area.maybe { fill: #388bfd; fill-opacity: 0.25 }
}
</style>
)";

std::string EscapedForXml(std::string_view text) {
  return absl::StrReplaceAll(std::string(text),
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

// Formats with at most `digits` decimals and without trailing zeros.
std::string Trimmed(double number, int digits) {
  std::string text = absl::StrFormat("%.*f", digits, number);
  if (digits == 0) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string Pixels(double number) { return Trimmed(number, 1); }

std::string StepPath(const std::vector<Svg::Point>& steps, double right) {
  std::string path = absl::StrCat("M", Pixels(steps.front().x), " ", Pixels(steps.front().y));
  std::string height = Pixels(steps.front().y);
  for (const Svg::Point& step : steps) {
    std::string next = Pixels(step.y);
    if (next == height) continue;
    absl::StrAppend(&path, "H", Pixels(step.x), "V", next);
    height = std::move(next);
  }
  return absl::StrCat(path, "H", Pixels(right));
}

}  // namespace

Svg::Svg(double width, double height, std::string_view title, std::string_view description)
    : svg_(absl::StrFormat(
          "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %1$s %2$s\" width=\"%1$s\" "
          "height=\"%2$s\" role=\"img\" aria-labelledby=\"title description\">\n"
          "<title id=\"title\">%3$s</title>\n<desc id=\"description\">%4$s</desc>\n%5$s",
          Pixels(width), Pixels(height), EscapedForXml(title), EscapedForXml(description),
          kStyle)) {
  AddBox({.x = 0, .y = 0, .width = width, .height = height}, "ground");
}

void Svg::AddText(Point at, Anchor anchor, std::string_view look, std::string_view text) {
  constexpr const char* kAnchors[] = {"start", "middle", "end"};
  svg_ += absl::StrFormat("<text class=\"%s\" x=\"%s\" y=\"%s\" text-anchor=\"%s\">%s</text>\n",
                          std::string(look), Pixels(at.x), Pixels(at.y),
                          kAnchors[static_cast<int>(anchor)], EscapedForXml(text));
}

void Svg::AddLine(Point from, Point to, std::string_view look) {
  svg_ += absl::StrFormat("<path class=\"%s\" d=\"M%s %sL%s %s\"/>\n", std::string(look),
                          Pixels(from.x), Pixels(from.y), Pixels(to.x), Pixels(to.y));
}

void Svg::AddBox(const Box& box, std::string_view look) {
  svg_ += absl::StrFormat(
      "<rect class=\"area %s\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"/>\n", std::string(look),
      Pixels(box.x), Pixels(box.y), Pixels(box.width), Pixels(box.height));
}

void Svg::AddSteps(const std::vector<Point>& steps, double right, double floor,
                   std::string_view look) {
  if (steps.empty()) return;
  const std::string path = StepPath(steps, right);
  svg_ += absl::StrFormat(
      "<path class=\"area %1$s\" d=\"%2$sV%3$sH%4$sZ\"/>\n<path class=\"line %1$s\" "
      "d=\"%2$s\"/>\n",
      std::string(look), path, Pixels(floor), Pixels(steps.front().x));
}

std::string Svg::Finish() && { return std::move(svg_) + "</svg>\n"; }

std::string NumberText(double number) {
  if (number < 10) return Trimmed(number, 2);
  if (number < 9'999.5) return Trimmed(number, number < 100 ? 1 : 0);
  if (number < 999'950) return absl::StrCat(Trimmed(number / 1e3, 1), "k");
  if (number < 999'950'000) return absl::StrCat(Trimmed(number / 1e6, 1), "M");
  return absl::StrCat(Trimmed(number / 1e9, 1), "G");
}

std::vector<double> NumberTicks(double end, int most) {
  double step = std::pow(10, std::floor(std::log10(end / most)));
  for (const double next : {2.0, 2.5, 2.0}) {
    if (std::floor(end / step) + 1 <= most) break;
    step *= next;
  }
  while (std::floor(end / step) + 1 > most) step *= 2;
  std::vector<double> ticks;
  for (int i = 0; i * step <= end; ++i) ticks.push_back(i * step);
  return ticks;
}

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

}  // namespace retryq::cli
