#include "bench/ratio_plot.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "cli/plan/svg.h"

namespace retryq::bench {
namespace {

using Anchor = cli::Svg::Anchor;

constexpr double kImageWidth = 860;
constexpr double kLeft = 230;  // of the bars; their names stand before it
constexpr double kWidth = 540;
constexpr double kTop = 76;
constexpr double kRow = 30;
constexpr double kBar = 16;
constexpr double kBelow = 54;  // the last row
constexpr double kWhisker = 4;
constexpr int kMostTicks = 9;

struct Row {
  std::string name;
  double ratio;
  Interval interval;
};

// The metrics with ratios, by name, in the order of their first line.
std::vector<std::pair<std::string, std::vector<Row>>> RowsByMetric(const Results& results) {
  std::vector<std::pair<std::string, std::vector<Row>>> metrics;
  for (const LineResult& line : results.lines) {
    for (const MetricResult& result : line.metrics) {
      if (result.metric.comparison != Comparison::kRatio) continue;
      auto place = std::find_if(metrics.begin(), metrics.end(), [&](const auto& metric) {
        return metric.first == result.metric.name;
      });
      if (place == metrics.end()) {
        place = metrics.insert(place, {result.metric.name, {}});
      }
      const std::vector<double> ratios = result.Compared();
      place->second.push_back(
          {.name = line.line.title, .ratio = Median(ratios), .interval = MedianInterval(ratios)});
    }
  }
  return metrics;
}

std::string Draw(const std::string& metric, const std::vector<Row>& rows, const Machine& machine) {
  double most = 1;
  std::string description = absl::StrCat(metric, " of retryq divided by that of the baseline:");
  for (const Row& row : rows) {
    most = std::max(most, row.interval.to);
    absl::StrAppend(&description, " ", row.name, absl::StrFormat(" %.2f;", row.ratio));
  }
  description.back() = '.';
  most *= 1.1;
  const auto x = [most](double ratio) { return kLeft + kWidth * ratio / most; };
  const double floor = kTop + kRow * static_cast<double>(rows.size());

  cli::Svg svg(kImageWidth, floor + kBelow, absl::StrCat(metric, " against a hand-written loop"),
               description);
  svg.AddText({20, 26}, Anchor::kStart, "strong",
              absl::StrCat(metric, ": retryq divided by a hand-written loop on rabbitmq-c"));
  svg.AddText({20, 46}, Anchor::kStart, "note",
              absl::StrCat("RabbitMQ ", machine.rabbitmq, " and client on ", machine.cores,
                           " cores; medians, and where they lie with 95 %"));
  for (const double tick : cli::NumberTicks(most, kMostTicks)) {
    svg.AddLine({x(tick), kTop}, {x(tick), floor}, "grid");
    svg.AddText({x(tick), floor + 20}, Anchor::kMiddle, "note", cli::NumberText(tick));
  }
  double top = kTop;
  for (const Row& row : rows) {
    const double middle = top + kRow / 2;
    svg.AddText({kLeft - 10, middle + 4}, Anchor::kEnd, "text", row.name);
    svg.AddBox({.x = kLeft, .y = middle - kBar / 2, .width = x(row.ratio) - kLeft, .height = kBar},
               "first");
    svg.AddLine({x(row.interval.from), middle}, {x(row.interval.to), middle}, "axis");
    for (const double end : {row.interval.from, row.interval.to}) {
      svg.AddLine({x(end), middle - kWhisker}, {x(end), middle + kWhisker}, "axis");
    }
    svg.AddText({kImageWidth - 12, middle + 4}, Anchor::kEnd, "text",
                absl::StrFormat("%.2f", row.ratio));
    top += kRow;
  }
  svg.AddLine({x(1), kTop - 6}, {x(1), floor}, "limit");
  svg.AddLine({kLeft, kTop}, {kLeft, floor}, "axis");
  svg.AddText({kLeft + kWidth / 2, floor + 42}, Anchor::kMiddle, "note",
              "the dashed line: both the same");
  return std::move(svg).Finish();
}

}  // namespace

std::vector<RatioPlot> RatioPlots(const Results& results) {
  std::vector<RatioPlot> plots;
  for (const auto& [metric, rows] : RowsByMetric(results)) {
    plots.push_back(
        {.file_name = absl::AsciiStrToLower(absl::StrReplaceAll(metric, {{" ", "-"}})) + ".svg",
         .svg = Draw(metric, rows, results.machine)});
  }
  return plots;
}

}  // namespace retryq::bench
