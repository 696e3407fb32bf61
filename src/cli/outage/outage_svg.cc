#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/outage/outage_output.h"
#include "cli/plot/axis_ticks.h"
#include "cli/plot/number_text.h"
#include "cli/plot/svg.h"
#include "cli/text/duration.h"

namespace retryq::cli {
namespace {

using Sample = OutageReport::Sample;
using Anchor = Svg::Anchor;

constexpr double kOutageWidth = 860;
constexpr double kLeftOfPanels = 70;
constexpr double kPanelWidth = 760;
constexpr double kTopOfPanels = 80;
constexpr double kBetween = 46;
constexpr double kBelowPanels = 60;

struct Panel {
  const char* title;
  double height;
  std::uint64_t Sample::*number;
};

constexpr Panel kCalls = {"Calls/s, in the second that had the most of them", 200,
                          &Sample::most_calls};
constexpr Panel kOthers[] = {{"Messages waiting", 110, &Sample::waiting},
                             {"Delay queues", 70, &Sample::delay_queues},
                             {"Messages parked so far", 70, &Sample::parked}};

// The image's height: the sum of its panels.
double ImageHeight() {
  double height = kTopOfPanels + kCalls.height + kBelowPanels;
  for (const Panel& panel : kOthers) height += kBetween + panel.height;
  return height;
}

class SvgWriter {
 public:
  SvgWriter(const OutageOptions& outage, const OutageReport& report)
      : outage_(outage),
        report_(report),
        svg_(kOutageWidth, ImageHeight(), "A simulated outage and its retries", Description()) {}

  std::string Write() && {
    svg_.AddText({kLeftOfPanels, 26}, Anchor::kStart, "text", OutageTitle(outage_, report_));
    DrawLegend();
    double top = kTopOfPanels;
    DrawGround(kCalls, top, true);
    DrawCalls(top);
    top += kCalls.height;
    for (const Panel& panel : kOthers) {
      top += kBetween;
      const double most = DrawGround(panel, top, false);
      svg_.AddArea(Steps(panel.number, top, panel.height, most), Right(), top + panel.height,
                   "first");
      svg_.AddStepLine(Steps(panel.number, top, panel.height, most), Right(), "first");
      top += panel.height;
    }
    DrawTimes(top);
    return std::move(svg_).Finish();
  }

 private:
  std::string Description() const {
    return absl::StrCat(
        OutageTitle(outage_, report_), ". Calls a second rise to ", report_.most_calls_until_end,
        " until the outage ends and to ", report_.most_calls_after, " after it; at most ",
        report_.most_waiting, " messages wait and ", report_.parked, " are parked. ",
        report_.recovery
            ? absl::StrCat("Recovered ",
                           DurationText(absl::Floor(*report_.recovery, absl::Seconds(1))),
                           " after the outage's end.")
            : "No recovery in the time simulated.");
  }

  double X(absl::Duration time) const {
    return kLeftOfPanels + (kPanelWidth * std::min(absl::FDivDuration(time, report_.end), 1.0));
  }
  double Right() const { return kLeftOfPanels + kPanelWidth; }
  static double Y(double value, double most, double top, double height) {
    return top + (height * (1 - (value / most)));
  }

  // The value at the top of a panel.
  double Most(const Panel& panel) const {
    double most = 1;
    for (const Sample& sample : report_.samples) {
      most = std::max(most, static_cast<double>(sample.*panel.number));
    }
    return most * 1.05;
  }

  std::vector<Svg::Point> Steps(std::uint64_t Sample::*number, double top, double height,
                                double most) const {
    std::vector<Svg::Point> steps;
    for (const Sample& sample : report_.samples) {
      steps.push_back({X(sample.begin), Y(static_cast<double>(sample.*number), most, top, height)});
    }
    return steps;
  }

  // Returns the value at the top.
  double DrawGround(const Panel& panel, double top, bool tall) {
    const double floor = top + panel.height;
    svg_.AddText({kLeftOfPanels, top - 10}, Anchor::kStart, "text", panel.title);
    svg_.AddBox({.x = X(report_.outage_begin),
                 .y = top,
                 .width = X(report_.outage_end) - X(report_.outage_begin),
                 .height = panel.height},
                "outage");
    const double most = Most(panel);
    for (const double tick : NumberTicks(most, tall ? 7 : 4)) {
      if (tick != std::floor(tick)) continue;  // calls, messages and queues are whole numbers
      const double y = Y(tick, most, top, panel.height);
      if (tick > 0) svg_.AddLine({kLeftOfPanels, y}, {Right(), y}, "grid");
      svg_.AddText({kLeftOfPanels - 8, y + 4}, Anchor::kEnd, "note", NumberText(tick));
    }
    svg_.AddLine({kLeftOfPanels, top}, {kLeftOfPanels, floor}, "axis");
    svg_.AddLine({kLeftOfPanels, floor}, {Right(), floor}, "axis");
    return most;
  }

  void DrawCalls(double top) {
    const double most = Most(kCalls);
    const double floor = top + kCalls.height;
    const auto calls = Steps(&Sample::most_calls, top, kCalls.height, most);
    const auto failures = Steps(&Sample::most_failures, top, kCalls.height, most);
    svg_.AddArea(calls, Right(), floor, "first");
    svg_.AddArea(failures, Right(), floor, "second");
    svg_.AddStepLine(calls, Right(), "first");
    if (outage_.capacity < most) {
      const double y = Y(outage_.capacity, most, top, kCalls.height);
      svg_.AddLine({kLeftOfPanels, y}, {Right(), y}, "limit");
    }
  }

  void DrawLegend() {
    constexpr double kY = 50;
    double x = kLeftOfPanels;
    const auto name = [&](const char* text) {
      svg_.AddText({x + 20, kY}, Anchor::kStart, "note", text);
      x += 130;
    };
    const auto box = [&](const char* look, const char* text) {
      svg_.AddBox({.x = x, .y = kY - 10, .width = 14, .height = 11}, look);
      name(text);
    };
    box("first", "calls");
    box("second", "of these, failed");
    if (!std::isinf(outage_.capacity)) {
      svg_.AddLine({x, kY - 5}, {x + 15, kY - 5}, "limit");
      name("the capacity");
    }
    box("outage", "the outage");
  }

  void DrawTimes(double floor) {
    constexpr int kMostTicks = 9;
    for (const absl::Duration time : TimeTicks(report_.end, kMostTicks)) {
      svg_.AddLine({X(time), floor}, {X(time), floor + 5}, "axis");
      svg_.AddText({X(time), floor + 20}, Anchor::kMiddle, "note", DurationText(time));
    }
    svg_.AddText({kLeftOfPanels + kPanelWidth / 2, floor + 42}, Anchor::kMiddle, "text",
                 "time since the beginning");
  }

  const OutageOptions& outage_;
  const OutageReport& report_;
  Svg svg_;
};

}  // namespace

std::string OutageSvg(const OutageOptions& outage, const OutageReport& report) {
  return SvgWriter(outage, report).Write();
}

}  // namespace retryq::cli
