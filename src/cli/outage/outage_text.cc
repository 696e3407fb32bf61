#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/outage/outage_output.h"
#include "cli/plot/bar_plot.h"
#include "cli/plot/number_text.h"
#include "cli/text/duration.h"

namespace retryq::cli {
namespace {

using Sample = OutageReport::Sample;

// ", 10.5 times the rate"; empty without a rate.
std::string TimesTheRate(std::uint64_t calls, const OutageOptions& outage) {
  if (outage.rate <= 0) return "";
  return absl::StrFormat(", %.1f times the rate", static_cast<double>(calls) / outage.rate);
}

// Rounds to a readable precision.
absl::Duration Rounded(absl::Duration duration) {
  const absl::Duration unit =
      duration < absl::Seconds(10) ? absl::Milliseconds(1) : absl::Seconds(1);
  return absl::Floor(duration + unit / 2, unit);
}

std::string Text(absl::Duration duration) { return DurationText(Rounded(duration)); }

class TextWriter {
 public:
  TextWriter(const OutageReport& report, const PlotStyle& style) : report_(report), style_(style) {}

  void AddPlot(const std::string& title, int height, std::uint64_t Sample::*number) {
    BarPlot plot{.title = title,
                 .values = {},
                 .height = height,
                 .mark_begin = PartOf(report_.outage_begin),
                 .mark_end = PartOf(report_.outage_end),
                 .mark = "outage",
                 .end = Text(report_.end)};
    for (const Sample& sample : report_.samples) {
      plot.values.push_back(static_cast<double>(sample.*number));
    }
    text_ += Draw(plot, style_) + "\n";
  }

  void AddLine(const std::string& name, const std::string& what) {
    text_ += absl::StrFormat("%-15s %s\n", name, what);
  }

  void AddText(const std::string& text) { text_ += text; }
  const std::string& text() const { return text_; }

 private:
  // The part of the time of all samples, the last of which may extend beyond the end.
  double PartOf(absl::Duration time) const {
    return absl::FDivDuration(time,
                              static_cast<std::int64_t>(report_.samples.size()) * report_.interval);
  }

  const OutageReport& report_;
  const PlotStyle& style_;
  std::string text_;
};

std::string Recovery(const OutageOptions& outage, const OutageReport& report) {
  if (report.recovery) return absl::StrCat(Text(*report.recovery), " after the outage's end");
  return absl::StrCat(
      "not within ", Text(report.end - report.outage_end), " after the outage's end: ",
      outage.capacity <= outage.rate ? "the capacity must be above the rate"
                                     : "take a longer duration to see when, or a higher capacity");
}

}  // namespace

std::string OutageTitle(const OutageOptions& outage, const OutageReport& report) {
  std::string text =
      absl::StrCat("An outage of ", Text(outage.outage), ", ", Text(report.outage_begin),
                   " after the beginning; ", NumberText(outage.rate), " messages/s");
  if (outage.poisson) absl::StrAppend(&text, " (Poisson)");
  if (outage.burst > 0) absl::StrAppend(&text, " and a burst of ", outage.burst);
  absl::StrAppend(&text, "; ",
                  std::isinf(outage.capacity)
                      ? "any number of calls is taken"
                      : absl::StrCat("at most ", NumberText(outage.capacity), " calls/s taken"));
  if (outage.error_rate > 0) {
    absl::StrAppend(&text, ", of which ", NumberText(100 * outage.error_rate), "% fail");
  }
  return text;
}

std::string OutageText(const OutageOptions& outage, const OutageReport& report,
                       const PlotStyle& style) {
  TextWriter writer(report, style);
  writer.AddText(OutageTitle(outage, report) + "\n\n");
  writer.AddPlot("Calls/s, in the second that had the most of them", 8, &Sample::most_calls);
  writer.AddPlot("Messages waiting", 6, &Sample::waiting);
  writer.AddPlot("Delay queues", 4, &Sample::delay_queues);
  if (report.parked > 0) writer.AddPlot("Messages parked so far", 4, &Sample::parked);

  writer.AddLine("recovered", Recovery(outage, report));
  writer.AddLine(
      "most calls/s",
      absl::StrCat(report.most_calls_until_end, " until the outage's end",
                   TimesTheRate(report.most_calls_until_end, outage), "; ", report.most_calls_after,
                   " after it", TimesTheRate(report.most_calls_after, outage)));
  writer.AddLine("waiting", absl::StrCat(report.waiting_at_outage_end, " at the outage's end; ",
                                         report.most_waiting, " at most"));
  const auto messages = static_cast<double>(report.arrived);
  writer.AddLine("calls",
                 absl::StrFormat("%d, of which %d failed; %.2f a message, %d at most", report.calls,
                                 report.failures,
                                 messages > 0 ? static_cast<double>(report.calls) / messages : 0,
                                 report.most_attempts));
  writer.AddLine("messages",
                 absl::StrCat(report.arrived, " = handled ", report.handled, " + parked ",
                              report.parked, " + still waiting ", report.waiting));
  writer.AddLine("latency",
                 absl::StrCat("p50 ", Text(report.latency_p50), ", p99 ", Text(report.latency_p99),
                              ", longest ", Text(report.latency_max), ", of those handled"));
  writer.AddLine("delay queues", absl::StrCat("at most ", report.most_delay_queues));
  return writer.text();
}

std::string BreakerText(const BreakerOptions& breaker, const OutageReport& without,
                        const OutageReport& with) {
  std::string text = absl::StrFormat(
      "With a circuit breaker that opens when %s of %d calls have failed, for %s, and closes after "
      "%d successes:\n",
      NumberText(breaker.ratio), breaker.calls, DurationText(breaker.pause), breaker.probes);
  const auto add = [&](const char* name, const std::string& before, const std::string& after) {
    absl::StrAppend(&text, absl::StrFormat("%-28s %12s %12s\n", name, before, after));
  };
  const auto add_number = [&](const char* name, std::uint64_t OutageReport::*number) {
    add(name, absl::StrCat(without.*number), absl::StrCat(with.*number));
  };
  const auto recovery = [](const OutageReport& report) {
    return report.recovery ? Text(*report.recovery) : "not in time";
  };
  add("", "without", "with");
  add_number("calls", &OutageReport::calls);
  add_number("attempts used: failed calls", &OutageReport::failures);
  add_number("attempts of one message", &OutageReport::most_attempts);
  add_number("parked", &OutageReport::parked);
  add_number("most waiting", &OutageReport::most_waiting);
  add_number("calls/s until the end, most", &OutageReport::most_calls_until_end);
  add_number("calls/s after it, most", &OutageReport::most_calls_after);
  add("recovered after the end", recovery(without), recovery(with));
  return text;
}

}  // namespace retryq::cli
