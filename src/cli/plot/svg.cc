#include "cli/plot/svg.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

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

// Escapes text for XML; control characters, which XML does not allow, become spaces.
std::string EscapedForXml(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return escaped;
}

std::string SvgNumber(double number) {
  std::string text = absl::StrFormat("%.1f", number);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

const char* NameOf(Svg::Anchor anchor) {
  switch (anchor) {
    case Svg::Anchor::kMiddle:
      return "middle";
    case Svg::Anchor::kEnd:
      return "end";
    case Svg::Anchor::kStart:
      break;
  }
  return "start";
}

std::string Steps(const std::vector<Svg::Point>& steps, double right) {
  std::string path = absl::StrCat("M", SvgNumber(steps.front().x), " ", SvgNumber(steps.front().y));
  std::string height = SvgNumber(steps.front().y);
  for (const Svg::Point& step : steps) {
    std::string next = SvgNumber(step.y);
    if (next == height) continue;
    absl::StrAppend(&path, "H", SvgNumber(step.x), "V", next);
    height = std::move(next);
  }
  return absl::StrCat(path, "H", SvgNumber(right));
}

std::string Class(std::string_view kind, std::string_view look) {
  return absl::StrCat(" class=\"", std::string(kind), kind.empty() ? "" : " ", std::string(look),
                      "\"");
}

}  // namespace

Svg::Svg(double width, double height, std::string_view title, std::string_view description)
    : svg_(absl::StrCat(
          "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", SvgNumber(width), " ",
          SvgNumber(height), "\" width=\"", SvgNumber(width), "\" height=\"", SvgNumber(height),
          "\" role=\"img\" aria-labelledby=\"title description\">\n", "<title id=\"title\">",
          EscapedForXml(title), "</title>\n<desc id=\"description\">", EscapedForXml(description),
          "</desc>\n", kStyle)) {
  AddBox({.x = 0, .y = 0, .width = width, .height = height}, "ground");
}

void Svg::AddText(Point at, Anchor anchor, std::string_view look, std::string_view text) {
  absl::StrAppend(&svg_, "<text", Class("", look), " x=\"", SvgNumber(at.x), "\" y=\"",
                  SvgNumber(at.y), "\" text-anchor=\"", NameOf(anchor), "\">", EscapedForXml(text),
                  "</text>\n");
}

void Svg::AddLine(Point from, Point to, std::string_view look) {
  absl::StrAppend(&svg_, "<path", Class("", look), " d=\"M", SvgNumber(from.x), " ",
                  SvgNumber(from.y), "L", SvgNumber(to.x), " ", SvgNumber(to.y), "\"/>\n");
}

void Svg::AddBox(const Box& box, std::string_view look) {
  absl::StrAppend(&svg_, "<rect", Class("area", look), " x=\"", SvgNumber(box.x), "\" y=\"",
                  SvgNumber(box.y), "\" width=\"", SvgNumber(box.width), "\" height=\"",
                  SvgNumber(box.height), "\"/>\n");
}

void Svg::AddArea(const std::vector<Point>& steps, double right, double floor,
                  std::string_view look) {
  if (steps.empty()) return;
  absl::StrAppend(&svg_, "<path", Class("area", look), " d=\"", Steps(steps, right), "V",
                  SvgNumber(floor), "H", SvgNumber(steps.front().x), "Z\"/>\n");
}

void Svg::AddStepLine(const std::vector<Point>& steps, double right, std::string_view look) {
  if (steps.empty()) return;
  absl::StrAppend(&svg_, "<path", Class("line", look), " d=\"", Steps(steps, right), "\"/>\n");
}

std::string Svg::Finish() && { return std::move(svg_) + "</svg>\n"; }

}  // namespace retryq::cli
