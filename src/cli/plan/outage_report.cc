// A simulated outage as text and JSON.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/plan/plan_command.h"
#include "cli/text/duration.h"

namespace retryq::cli {
namespace {

using Sample = OutageReport::Sample;

// The figures of a report: their names in JSON and in text.
struct Figure {
  const char* key;
  const char* name;
  std::uint64_t OutageReport::*number;
};
constexpr Figure kFigures[] = {
    {"most_calls_per_second_until_outage_end", "peak calls/s until the outage ends",
     &OutageReport::most_calls_until_end},
    {"most_calls_per_second_after", "peak calls/s after it", &OutageReport::most_calls_after},
    {"waiting_at_outage_end", "waiting when it ends", &OutageReport::waiting_at_outage_end},
    {"most_waiting", "waiting, at most", &OutageReport::most_waiting},
    {"most_attempts", "attempts of one message, at most", &OutageReport::most_attempts},
    {"arrived", "messages", &OutageReport::arrived},
    {"handled", "  handled", &OutageReport::handled},
    {"parked", "  parked", &OutageReport::parked},
    {"waiting", "  still waiting", &OutageReport::waiting},
    {"calls", "calls", &OutageReport::calls},
    {"failures", "  failed: attempts used", &OutageReport::failures},
};

// From the arrival of a message until it was handled.
constexpr std::pair<const char*, absl::Duration OutageReport::*> kLatencies[] = {
    {"p50", &OutageReport::latency_p50},
    {"p99", &OutageReport::latency_p99},
    {"max", &OutageReport::latency_max},
};

// Formats a duration with a readable precision.
std::string Rounded(absl::Duration duration) {
  const absl::Duration unit =
      duration < absl::Seconds(10) ? absl::Milliseconds(1) : absl::Seconds(1);
  return DurationText(absl::Floor(duration + unit / 2, unit));
}

// A table with a row per interval of time: the highest numbers in it, and a bar of its calls.
std::string Timeline(const OutageOptions& outage, const OutageReport& report) {
  constexpr int kMostRows = 24;
  constexpr double kBar = 30;
  const int samples = static_cast<int>(std::min<std::size_t>(report.samples.size(), kMostRows));
  std::vector<absl::Duration> times =
      TimeTicks(report.end, std::clamp(samples + 1, 2, kMostRows));  // none without a sample
  const absl::Duration step = times.size() > 1 ? times[1] : absl::Seconds(1);
  while (times.size() > 1 && times.back() >= report.end) times.pop_back();
  std::vector<Sample> rows(times.size());
  for (std::size_t i = 0; i < report.samples.size(); ++i) {
    const Sample& sample = report.samples[i];
    const double place =
        std::floor(absl::FDivDuration(static_cast<std::int64_t>(i) * report.interval, step));
    Sample& row = rows[std::min(static_cast<std::size_t>(place), rows.size() - 1)];
    row.most_calls = std::max(row.most_calls, sample.most_calls);
    row.most_failures = std::max(row.most_failures, sample.most_failures);
    row.waiting = std::max(row.waiting, sample.waiting);
    row.parked = sample.parked;
  }
  const double most = static_cast<double>(
      std::max({std::uint64_t{1}, report.most_calls_until_end, report.most_calls_after}));
  const auto cells = [most](std::uint64_t calls) {
    return static_cast<std::size_t>(std::ceil(static_cast<double>(calls) / most * kBar));
  };
  std::string text =
      "    time  calls/s  failed/s   waiting    parked  #: failed calls, =: others\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Sample& row = rows[i];
    const std::size_t failed = cells(row.most_failures);
    const bool is_down = times[i] < outage.end() && times[i] + step > outage.begin();
    absl::StrAppend(
        &text,
        absl::StrFormat("%8s  %7d  %8d  %8d  %8d %c", DurationText(times[i]), row.most_calls,
                        row.most_failures, row.waiting, row.parked, is_down ? '*' : ' '),
        std::string(failed, '#'), std::string(cells(row.most_calls) - failed, '='), "\n");
  }
  return text;
}

}  // namespace

std::string OutageTitle(const OutageOptions& outage) {
  std::string text =
      absl::StrCat("Outage of ", Rounded(outage.outage), " that begins after ",
                   Rounded(outage.begin()), "; ", NumberText(outage.rate), " messages/s");
  if (outage.burst > 0) absl::StrAppend(&text, " and a burst of ", outage.burst);
  return absl::StrCat(text, "; ",
                      std::isinf(outage.capacity)
                          ? "unlimited capacity"
                          : absl::StrCat("capacity ", NumberText(outage.capacity), " calls/s"));
}

std::string OutageSummary(const OutageOptions& outage,
                          const std::vector<const OutageReport*>& reports) {
  std::string text;
  const auto add = [&](const std::string& name, const auto& value_of) {
    absl::StrAppendFormat(&text, "%-34s", name);
    for (const OutageReport* report : reports)
      absl::StrAppendFormat(&text, "%14s", value_of(*report));
    text += "\n";
  };
  bool recovers = true;
  add("recovered after the outage", [&](const OutageReport& report) {
    recovers = recovers && report.recovery;
    return report.recovery ? Rounded(*report.recovery)
                           : "not within " + Rounded(report.end - outage.end());
  });
  for (const Figure& figure : kFigures) {
    add(figure.name,
        [&](const OutageReport& report) { return absl::StrCat(report.*figure.number); });
  }
  add("  per message", [](const OutageReport& report) {
    const auto messages = static_cast<double>(std::max<std::uint64_t>(report.arrived, 1));
    return absl::StrFormat("%.2f", static_cast<double>(report.calls) / messages);
  });
  for (const auto& [key, time] : kLatencies) {
    add(absl::StrCat("arrival to success, ", key),
        [time = time](const OutageReport& report) { return Rounded(report.*time); });
  }
  if (recovers) return text;
  return absl::StrCat(text, "remedy: ",
                      outage.capacity <= outage.rate ? "a capacity above the rate"
                                                     : "a higher capacity or more jitter",
                      "\n");
}

std::string OutageText(const OutageOptions& outage, const OutageReport& report,
                       const std::optional<BreakerOptions>& breaker, const OutageReport* with) {
  std::string text = absl::StrCat(OutageTitle(outage), "\n\n", Timeline(outage, report),
                                  "The highest second of each interval; *: during the outage.\n\n");
  if (with == nullptr) return text + OutageSummary(outage, {&report});
  absl::StrAppendFormat(
      &text,
      "With a circuit breaker that opens when %s of %d calls have failed, for %s, and closes after "
      "%d successes:\n%48s%14s\n%s",
      NumberText(breaker->ratio), breaker->calls, DurationText(breaker->pause), breaker->probes,
      "without", "with", OutageSummary(outage, {&report, with}));
  return text;
}

nlohmann::ordered_json OutageJson(const OutageOptions& outage, const OutageReport& report,
                                  const std::optional<BreakerOptions>& breaker) {
  using Json = nlohmann::ordered_json;
  const auto millis = [](absl::Duration duration) { return absl::ToInt64Milliseconds(duration); };
  Json json = {
      {"outage_begin_ms", millis(outage.begin())},
      {"outage_end_ms", millis(outage.end())},
      {"end_ms", millis(report.end)},
      {"rate_per_second", outage.rate},
      {"capacity_per_second", std::isinf(outage.capacity) ? Json() : Json(outage.capacity)},
      {"burst", outage.burst},
      {"recovery_ms", report.recovery ? Json(millis(*report.recovery)) : Json()},
  };
  for (const Figure& figure : kFigures) json[figure.key] = report.*figure.number;
  for (const auto& [key, time] : kLatencies) json["latency_ms"][key] = millis(report.*time);
  json["sample_ms"] = millis(report.interval);
  Json& samples = json["samples"] = Json::array();
  for (const Sample& sample : report.samples) {
    const auto number = static_cast<std::int64_t>(samples.size());
    samples.push_back({{"time_ms", number * millis(report.interval)},
                       {"calls", sample.calls},
                       {"failures", sample.failures},
                       {"most_calls_per_second", sample.most_calls},
                       {"most_failures_per_second", sample.most_failures},
                       {"waiting", sample.waiting},
                       {"parked", sample.parked}});
  }
  if (breaker) {
    json["breaker"] = {{"calls", breaker->calls},
                       {"ratio", breaker->ratio},
                       {"pause_ms", millis(breaker->pause)},
                       {"probes", breaker->probes}};
  }
  return json;
}

}  // namespace retryq::cli
