#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/plan/plan_command.h"
#include "cli/plan/svg.h"
#include "cli/text/duration.h"

namespace retryq::cli {
namespace {

using Sample = OutageReport::Sample;

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

std::string Recovery(const OutageOptions& outage, const OutageReport& report) {
  if (report.recovery) return Rounded(*report.recovery) + " after the end of the outage";
  return absl::StrCat("not within ", Rounded(report.end - outage.end()),
                      " after the end of the outage; remedy: ",
                      outage.capacity <= outage.rate ? "a capacity above the rate"
                                                     : "a higher capacity or more jitter");
}

// "2000 (10.0 times the rate)"
std::string TimesTheRate(std::uint64_t calls, const OutageOptions& outage) {
  if (outage.rate <= 0) return absl::StrCat(calls);
  return absl::StrFormat("%d (%.1f times the rate)", calls,
                         static_cast<double>(calls) / outage.rate);
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

std::string OutageSummary(const OutageOptions& outage, const OutageReport& report) {
  const double calls =
      report.arrived == 0 ? 0
                          : static_cast<double>(report.calls) / static_cast<double>(report.arrived);
  return absl::StrFormat(
      "recovered       %s\n"
      "peak calls/s    %s until the end of the outage\n"
      "                %s after it\n"
      "waiting         %d at the end of the outage, at most %d\n"
      "calls           %d, of which %d failed; %.2f per message, at most %d\n"
      "messages        %d = handled %d + parked %d + still waiting %d\n"
      "latency         p50 %s, p99 %s, longest %s, from arrival to success",
      Recovery(outage, report), TimesTheRate(report.most_calls_until_end, outage),
      TimesTheRate(report.most_calls_after, outage), report.waiting_at_outage_end,
      report.most_waiting, report.calls, report.failures, calls, report.most_attempts,
      report.arrived, report.handled, report.parked, report.waiting, Rounded(report.latency_p50),
      Rounded(report.latency_p99), Rounded(report.latency_max));
}

std::string OutageText(const OutageOptions& outage, const OutageReport& report) {
  return absl::StrCat(OutageTitle(outage), "\n\n", Timeline(outage, report),
                      "The highest second of each interval; *: during the outage.\n\n",
                      OutageSummary(outage, report), "\n");
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
  constexpr std::pair<const char*, std::uint64_t OutageReport::*> kNumbers[] = {
      {"calls", &OutageReport::calls},
      {"attempts used: failed calls", &OutageReport::failures},
      {"attempts of one message", &OutageReport::most_attempts},
      {"parked", &OutageReport::parked},
      {"waiting, at most", &OutageReport::most_waiting},
      {"peak calls/s until the end", &OutageReport::most_calls_until_end},
      {"peak calls/s after the end", &OutageReport::most_calls_after}};
  const auto recovery = [](const OutageReport& report) {
    return report.recovery ? Rounded(*report.recovery) : "not in time";
  };
  add("", "without", "with");
  for (const auto& [name, number] : kNumbers) {
    add(name, absl::StrCat(without.*number), absl::StrCat(with.*number));
  }
  add("recovered after the end", recovery(without), recovery(with));
  return text;
}

nlohmann::ordered_json OutageJson(const OutageOptions& outage, const OutageReport& report,
                                  const std::optional<BreakerOptions>& breaker) {
  using Json = nlohmann::ordered_json;
  const auto millis = [](absl::Duration duration) { return absl::ToInt64Milliseconds(duration); };
  Json samples = Json::array();
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
  Json json = {
      {"outage_begin_ms", millis(outage.begin())},
      {"outage_end_ms", millis(outage.end())},
      {"end_ms", millis(report.end)},
      {"rate_per_second", outage.rate},
      {"capacity_per_second", std::isinf(outage.capacity) ? Json() : Json(outage.capacity)},
      {"burst", outage.burst},
      {"recovery_ms", report.recovery ? Json(millis(*report.recovery)) : Json()},
      {"most_calls_per_second_until_outage_end", report.most_calls_until_end},
      {"most_calls_per_second_after", report.most_calls_after},
      {"waiting_at_outage_end", report.waiting_at_outage_end},
      {"most_waiting", report.most_waiting},
      {"most_attempts", report.most_attempts},
      {"arrived", report.arrived},
      {"handled", report.handled},
      {"parked", report.parked},
      {"waiting", report.waiting},
      {"calls", report.calls},
      {"failures", report.failures},
      {"latency_ms",
       {{"p50", millis(report.latency_p50)},
        {"p99", millis(report.latency_p99)},
        {"max", millis(report.latency_max)}}},
      {"sample_ms", millis(report.interval)},
      {"samples", std::move(samples)},
  };
  if (breaker) {
    json["breaker"] = {{"calls", breaker->calls},
                       {"ratio", breaker->ratio},
                       {"pause_ms", millis(breaker->pause)},
                       {"probes", breaker->probes}};
  }
  return json;
}

}  // namespace retryq::cli
