// The SVG images of `retryq plan`: of the delays of a policy, and of a simulated outage.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cli/plan/plan_command.h"
#include "cli/plan/svg.h"
#include "cli/text/duration.h"

namespace retryq::cli {
namespace {

using Anchor = Svg::Anchor;
using OutageSample = OutageReport::Sample;

constexpr double kImageWidth = 860;

// Draws an axis of time below a picture, from `left` to `left + width`, with its label.
void AddTimeAxis(Svg& svg, double left, double width, double floor, absl::Duration end,
                 const char* label) {
  constexpr int kMostTicks = 9;
  for (const absl::Duration time : TimeTicks(end, kMostTicks)) {
    const double x = left + (width * absl::FDivDuration(time, end));
    svg.AddLine({x, floor}, {x, floor + 5}, "axis");
    svg.AddText({x, floor + 20}, Anchor::kMiddle, "note", DurationText(time));
  }
  svg.AddLine({left, floor}, {left + width, floor}, "axis");
  svg.AddText({left + width / 2, floor + 42}, Anchor::kMiddle, "text", label);
}

// Draws a box and its meaning. Returns the place of the next one.
double AddLegend(Svg& svg, double x, double y, const char* look, const char* meaning) {
  svg.AddBox({.x = x, .y = y - 10, .width = 14, .height = 11}, look);
  svg.AddText({x + 20, y}, Anchor::kStart, "note", meaning);
  return x + 130;
}

struct Panel {
  const char* title;
  double height;
  int most_ticks;
  std::uint64_t OutageSample::*number;
};

constexpr Panel kPanels[] = {
    {"Calls/s: the highest second of each sample", 200, 7, &OutageSample::most_calls},
    {"Messages that wait", 110, 4, &OutageSample::waiting},
    {"Messages parked so far", 70, 4, &OutageSample::parked}};

}  // namespace

std::string OutageSvg(const OutageOptions& outage, const OutageReport& report) {
  constexpr double kLeft = 70;
  constexpr double kWidth = 760;
  constexpr double kRight = kLeft + kWidth;
  constexpr double kTop = 80;      // of the first panel
  constexpr double kBetween = 46;  // panels
  constexpr double kBelow = 60;    // the last panel
  double height = kTop - kBetween + kBelow;
  for (const Panel& panel : kPanels) height += panel.height + kBetween;

  const std::string title = OutageTitle(outage);
  Svg svg(kImageWidth, height, "A simulated outage and its retries",
          absl::StrCat(title, ". ",
                       absl::StrReplaceAll(OutageSummary(outage, report), {{"\n", ". "}})));
  svg.AddText({kLeft, 26}, Anchor::kStart, "text", title);
  double next = AddLegend(svg, kLeft, 50, "first", "calls");
  next = AddLegend(svg, next, 50, "second", "failed calls");
  next = AddLegend(svg, next, 50, "outage", "outage");
  if (!std::isinf(outage.capacity)) {
    svg.AddLine({next, 45}, {next + 15, 45}, "limit");
    svg.AddText({next + 20, 50}, Anchor::kStart, "note", "capacity");
  }
  const auto x = [&](absl::Duration time) {
    return kLeft + (kWidth * std::min(absl::FDivDuration(time, report.end), 1.0));
  };
  double floor = kTop;
  for (const Panel& panel : kPanels) {
    const double top = floor + (&panel == kPanels ? 0 : kBetween);
    floor = top + panel.height;
    double most = 1;
    for (const OutageSample& sample : report.samples) {
      most = std::max(most, static_cast<double>(sample.*panel.number));
    }
    most *= 1.05;
    const auto y = [&](double value) { return floor - (panel.height * value / most); };
    svg.AddText({kLeft, top - 10}, Anchor::kStart, "text", panel.title);
    const double begin = x(outage.begin());
    svg.AddBox({.x = begin, .y = top, .width = x(outage.end()) - begin, .height = panel.height},
               "outage");
    for (const double tick : NumberTicks(most, panel.most_ticks)) {
      if (tick != std::floor(tick)) continue;  // calls and messages are whole numbers
      svg.AddLine({kLeft, y(tick)}, {kRight, y(tick)}, "grid");
      svg.AddText({kLeft - 8, y(tick) + 4}, Anchor::kEnd, "note", NumberText(tick));
    }
    svg.AddLine({kLeft, top}, {kLeft, floor}, "axis");
    const auto draw = [&](std::uint64_t OutageSample::*number, const char* look) {
      std::vector<Svg::Point> steps;
      for (std::size_t i = 0; i < report.samples.size(); ++i) {
        steps.push_back({x(static_cast<std::int64_t>(i) * report.interval),
                         y(static_cast<double>(report.samples[i].*number))});
      }
      svg.AddSteps(steps, kRight, floor, look);
    };
    draw(panel.number, "first");
    if (panel.number != &OutageSample::most_calls) continue;
    draw(&OutageSample::most_failures, "second");
    if (outage.capacity < most) {
      svg.AddLine({kLeft, y(outage.capacity)}, {kRight, y(outage.capacity)}, "limit");
    }
  }
  AddTimeAxis(svg, kLeft, kWidth, floor, report.end, "time since the start");
  return std::move(svg).Finish();
}

std::string ScheduleSvg(const Schedule& schedule) {
  constexpr double kLeft = 60;
  constexpr double kWidth = 660;  // the text of the last delay is to the right
  constexpr double kTop = 70;
  constexpr double kRow = 20;
  constexpr std::size_t kMostRows = 50;

  const std::size_t rows = std::min(schedule.steps.size(), kMostRows);
  const absl::Duration end = rows == 0 ? absl::Seconds(1) : schedule.steps[rows - 1].elapsed;
  const bool all = schedule.ends && rows == schedule.steps.size();
  const std::string title =
      rows == 0 ? "No retry"
                : absl::StrCat(all ? "" : "The first ", rows, rows == 1 ? " delay" : " delays",
                               " of a message that always fails, within ", DurationText(end));
  const double floor = kTop + (static_cast<double>(rows) * kRow);
  const auto x = [end](absl::Duration time) {
    return kLeft + (kWidth * absl::FDivDuration(time, end));
  };

  Svg svg(kImageWidth, floor + 70, "The delays of a policy", title);
  svg.AddText({kLeft, 26}, Anchor::kStart, "strong", title);
  svg.AddText({kLeft - 10, kTop - 8}, Anchor::kEnd, "note", "attempt");
  if (schedule.is_random) {
    AddLegend(svg, AddLegend(svg, kLeft, 54, "first", "shortest delay"), 54, "maybe",
              "random part");
  }
  for (std::size_t row = 0; row < rows; ++row) {
    const Schedule::Step& step = schedule.steps[row];
    const double top = kTop + (static_cast<double>(row) * kRow);
    const absl::Duration begin = step.elapsed - step.delay;
    const auto bar = [&](absl::Duration from, absl::Duration to, const char* look) {
      const double width = std::max(x(to) - x(from), 1.0);  // visible
      svg.AddBox({.x = x(from), .y = top + 3, .width = width, .height = kRow - 6}, look);
    };
    if (step.shortest_delay < step.delay) bar(begin + step.shortest_delay, step.elapsed, "maybe");
    bar(begin, begin + step.shortest_delay, "first");
    svg.AddText({kLeft - 10, top + 14}, Anchor::kEnd, "note", absl::StrCat(step.attempt));
    svg.AddText({x(step.elapsed) + 6, top + 14}, Anchor::kStart, "text", DelayText(step));
  }
  AddTimeAxis(svg, kLeft, kWidth, floor, end,
              "time since the first failure, if each delay is the longest");
  return std::move(svg).Finish();
}

}  // namespace retryq::cli
