#include "cli/plan/schedule_svg.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/plot/axis_ticks.h"
#include "cli/plot/svg.h"
#include "cli/text/duration.h"

namespace retryq::cli {
namespace {

using Anchor = Svg::Anchor;

constexpr std::size_t kMostRows = 50;
constexpr double kScheduleWidth = 860;
constexpr double kLeftOfDelays = 60;
constexpr double kDelaysWidth = 660;  // the text of the last delay is to the right
constexpr double kTopOfRows = 70;
constexpr double kRow = 20;
constexpr double kBelowRows = 70;

class ScheduleWriter {
 public:
  explicit ScheduleWriter(const Plan& plan)
      : plan_(plan),
        rows_(std::min(plan.steps.size(), kMostRows)),
        end_(rows_ == 0 ? absl::Seconds(1) : plan.steps[rows_ - 1].elapsed),
        svg_(kScheduleWidth, Floor() + kBelowRows, "The delays of a policy", Summary()) {}

  std::string Write() && {
    svg_.AddText({kLeftOfDelays, 26}, Anchor::kStart, "strong", Summary());
    svg_.AddText({kLeftOfDelays - 10, kTopOfRows - 8}, Anchor::kEnd, "note", "attempt");
    if (HasChance()) {
      svg_.AddBox({.x = kLeftOfDelays, .y = kTopOfRows - 26, .width = 14, .height = 11}, "first");
      svg_.AddText({kLeftOfDelays + 20, kTopOfRows - 16}, Anchor::kStart, "note", "at least");
      svg_.AddBox({.x = kLeftOfDelays + 90, .y = kTopOfRows - 26, .width = 14, .height = 11},
                  "maybe");
      svg_.AddText({kLeftOfDelays + 110, kTopOfRows - 16}, Anchor::kStart, "note",
                   "as chance decides");
    }
    constexpr int kMostTicks = 10;
    for (const absl::Duration time : TimeTicks(end_, kMostTicks)) {
      svg_.AddLine({X(time), kTopOfRows}, {X(time), Floor()}, "grid");
      svg_.AddText({X(time), Floor() + 20}, Anchor::kMiddle, "note", DurationText(time));
    }
    for (std::size_t row = 0; row < rows_; ++row) DrawDelay(plan_.steps[row], row);
    svg_.AddLine({kLeftOfDelays, Floor()}, {kLeftOfDelays + kDelaysWidth, Floor()}, "axis");
    svg_.AddText({kLeftOfDelays + kDelaysWidth / 2, Floor() + 44}, Anchor::kMiddle, "text",
                 "time since the first failure, if each delay is the longest");
    return std::move(svg_).Finish();
  }

 private:
  // "24 delays within 2h20m3s"
  std::string Summary() const {
    if (plan_.steps.empty()) return "No retry";
    const std::string shown = plan_.ends && rows_ == plan_.steps.size()
                                  ? absl::StrCat(rows_, rows_ == 1 ? " delay" : " delays")
                                  : absl::StrCat("The first ", rows_, " delays");
    return absl::StrCat(shown, " of a message that always fails, within ", DurationText(end_));
  }

  bool HasChance() const {
    return std::any_of(plan_.steps.begin(), plan_.steps.end(),
                       [](const Plan::Step& step) { return step.shortest_delay < step.delay; });
  }

  double Floor() const { return kTopOfRows + (static_cast<double>(rows_) * kRow); }
  double X(absl::Duration time) const {
    return kLeftOfDelays + (kDelaysWidth * absl::FDivDuration(time, end_));
  }

  void DrawDelay(const Plan::Step& step, std::size_t row) {
    const double top = kTopOfRows + (static_cast<double>(row) * kRow);
    const double begin = X(step.elapsed - step.delay);
    const double sure = X(step.elapsed - step.delay + step.shortest_delay);
    const double end = X(step.elapsed);
    const auto bar = [&](double from, double to, const char* look) {
      constexpr double kSeen = 1;
      svg_.AddBox(
          {.x = from, .y = top + 3, .width = std::max(to - from, kSeen), .height = kRow - 6}, look);
    };
    if (sure < end) bar(sure, end, "maybe");
    bar(begin, sure, "first");
    svg_.AddText({kLeftOfDelays - 10, top + 14}, Anchor::kEnd, "note", absl::StrCat(step.attempt));
    svg_.AddText({end + 6, top + 14}, Anchor::kStart, "text", DelayText(step));
  }

  const Plan& plan_;
  const std::size_t rows_;
  const absl::Duration end_;  // end of the drawing
  Svg svg_;
};

}  // namespace

std::string ScheduleSvg(const Plan& plan) { return ScheduleWriter(plan).Write(); }

}  // namespace retryq::cli
