#include "bench/result.h"

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/text/duration.h"
#include "support/management.h"
#include "support/test_vhost.h"

namespace retryq::bench {
namespace {

std::string_view NameOf(Comparison comparison) {
  switch (comparison) {
    case Comparison::kRatio:
      return "ratio";
    case Comparison::kAdded:
      return "added";
    case Comparison::kNone:
      break;
  }
  return "median";
}

std::string Number(double number) {
  return (number < 0 ? "-" : "") + cli::NumberText(number < 0 ? -number : number);
}

// "7000 messages/s (6800..7200)"
std::string Spread(const std::vector<double>& values) {
  return absl::StrCat(Number(Median(values)), " (", Number(Quantile(values, 0)), "..",
                      Number(Quantile(values, 1)), ")");
}

std::string Compared(const MetricResult& result) {
  const std::vector<double> values = result.Compared();
  const Interval interval = MedianInterval(values);
  const Metric& metric = result.metric;
  const auto number = [&](double value) {
    return metric.comparison == Comparison::kRatio ? absl::StrFormat("%.2f", value) : Number(value);
  };
  std::string text = metric.name;
  if (metric.comparison != Comparison::kNone)
    absl::StrAppend(&text, " ", std::string(NameOf(metric.comparison)));
  absl::StrAppend(&text, " ", number(Median(values)));
  if (metric.comparison != Comparison::kRatio) absl::StrAppend(&text, " ", metric.unit);
  return absl::StrCat(text, " (CI ", number(interval.from), "..", number(interval.to), ")");
}

std::string Processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "an unknown processor";
}

}  // namespace

std::vector<double> MetricResult::Compared() const {
  if (metric.comparison == Comparison::kNone) return retryq;
  std::vector<double> compared;
  for (std::size_t round = 0; round < retryq.size(); ++round) {
    compared.push_back(metric.comparison == Comparison::kRatio ? retryq[round] / baseline[round]
                                                               : retryq[round] - baseline[round]);
  }
  return compared;
}

Machine ThisMachine() {
  double load = 0;
  getloadavg(&load, 1);
  const testing::Management management(testing::ManagementUrl());
  return {.processor = Processor(),
          .cores = std::thread::hardware_concurrency(),
          .load = load,
          .rabbitmq = management.Get("/overview").value().at("rabbitmq_version")};
}

std::string Text(const Machine& machine) {
  return absl::StrFormat(
      "%s, %d cores, load %.1f before the start; RabbitMQ %s on the same machine\n",
      machine.processor, machine.cores, machine.load, machine.rabbitmq);
}

std::string Text(const LineResult& result) {
  std::string summary;
  std::string details;
  for (const MetricResult& metric : result.metrics) {
    absl::StrAppend(&summary, summary.empty() ? "" : ", ", Compared(metric));
    if (metric.metric.comparison == Comparison::kNone) {
      absl::StrAppend(&details, "    ", metric.metric.name, ", ", metric.metric.unit, ": ",
                      Spread(metric.retryq), "\n");
    } else {
      absl::StrAppend(&details, "    ", metric.metric.name, ", ", metric.metric.unit, ": ",
                      result.line.subject, " ", Spread(metric.retryq), ", baseline ",
                      Spread(metric.baseline), "\n");
    }
  }
  return absl::StrCat(result.line.title, ": ", summary, "\n", details);
}

std::string Markdown(const Results& results) {
  const Machine& machine = results.machine;
  std::string text = absl::StrFormat(
      "## RabbitMQ %s\n\n%s, %d cores, load %.1f before the start.\n\n"
      "| | compared | retryq | the loop |\n| --- | --- | --- | --- |\n",
      machine.rabbitmq, machine.processor, machine.cores, machine.load);
  for (const LineResult& result : results.lines) {
    for (const MetricResult& metric : result.metrics) {
      absl::StrAppend(&text, "| ", result.line.title, " | ", Compared(metric), " | ",
                      Spread(metric.retryq), " ", metric.metric.unit, " | ",
                      metric.baseline.empty() ? "" : Spread(metric.baseline), " |\n");
    }
  }
  return text;
}

}  // namespace retryq::bench
