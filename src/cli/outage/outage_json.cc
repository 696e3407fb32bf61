#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/outage/outage_output.h"

namespace retryq::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::int64_t Millis(absl::Duration duration) { return absl::ToInt64Milliseconds(duration); }

}  // namespace

nlohmann::ordered_json OutageJson(const OutageOptions& outage, const OutageReport& report) {
  OrderedJson samples = OrderedJson::array();
  for (const OutageReport::Sample& sample : report.samples) {
    samples.push_back({{"time_ms", Millis(sample.begin)},
                       {"calls", sample.calls},
                       {"failures", sample.failures},
                       {"most_calls_per_second", sample.most_calls},
                       {"most_failures_per_second", sample.most_failures},
                       {"waiting", sample.waiting},
                       {"parked", sample.parked},
                       {"delay_queues", sample.delay_queues}});
  }
  OrderedJson json = {
      {"outage_begin_ms", Millis(report.outage_begin)},
      {"outage_end_ms", Millis(report.outage_end)},
      {"end_ms", Millis(report.end)},
      {"rate_per_second", outage.rate},
      {"capacity_per_second",
       std::isinf(outage.capacity) ? OrderedJson() : OrderedJson(outage.capacity)},
      {"error_rate", outage.error_rate},
      {"burst", outage.burst},
      {"arrivals", outage.poisson ? "poisson" : "even"},
      {"seed", outage.seed},
      {"recovery_ms", report.recovery ? OrderedJson(Millis(*report.recovery)) : OrderedJson()},
      {"most_calls_per_second_until_outage_end", report.most_calls_until_end},
      {"most_calls_per_second_after", report.most_calls_after},
      {"waiting_at_outage_end", report.waiting_at_outage_end},
      {"most_waiting", report.most_waiting},
      {"most_delay_queues", report.most_delay_queues},
      {"most_attempts", report.most_attempts},
      {"arrived", report.arrived},
      {"handled", report.handled},
      {"parked", report.parked},
      {"waiting", report.waiting},
      {"calls", report.calls},
      {"failures", report.failures},
      {"latency_ms",
       {{"p50", Millis(report.latency_p50)},
        {"p99", Millis(report.latency_p99)},
        {"max", Millis(report.latency_max)}}},
      {"sample_ms", Millis(report.interval)},
      {"samples", std::move(samples)},
  };
  if (outage.breaker) {
    json["breaker"] = {{"calls", outage.breaker->calls},
                       {"ratio", outage.breaker->ratio},
                       {"pause_ms", Millis(outage.breaker->pause)},
                       {"probes", outage.breaker->probes}};
  }
  return json;
}

}  // namespace retryq::cli
