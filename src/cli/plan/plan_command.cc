#include "cli/plan/plan_command.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/outage/outage_output.h"
#include "cli/outage/outage_simulation.h"
#include "cli/plan/plan.h"
#include "cli/plan/schedule_svg.h"
#include "cli/plot/plot_style.h"
#include "cli/text/duration.h"
#include "cli/text/io.h"
#include "cli/text/json_line.h"
#include "cli/text/outlet.h"

namespace retryq::cli {
namespace {

absl::Status WriteImage(const std::string& file, const std::string& image) {
  const FileDescriptor opened(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (opened.is_open() && WriteAll(opened.get(), image)) return absl::OkStatus();
  const std::string why =
      absl::StrCat("--svg '", file, "': cannot be written: ", std::strerror(errno));
  // A result that cannot be written is a separate error, as other files may have no space either.
  if (opened.is_open()) return absl::DataLossError(why);
  return absl::InvalidArgumentError(absl::StrCat(why, "; name a file where you may write"));
}

absl::StatusOr<OutageReport> Simulate(const PlanOptions& options, const OutageOptions& outage) {
  const bool watched = ::isatty(STDERR_FILENO) != 0;
  const auto progress = [watched](absl::Duration simulated, std::uint64_t calls) {
    if (!watched || calls == 0) return;
    WriteToStderr(absl::StrCat(kEraseLine, "simulated ",
                               DurationText(absl::Floor(simulated, absl::Seconds(1))), ", ",
                               calls / 1'000'000, " million calls"));
  };
  absl::StatusOr<OutageReport> report =
      SimulateOutage(outage, options.retry, options.delay_queues, progress);
  if (watched) WriteToStderr(kEraseLine);
  return report;
}

}  // namespace

absl::StatusOr<std::string> ShowPlan(const PlanOptions& options) {
  std::optional<OutageReport> report;
  if (options.outage) {
    absl::StatusOr<OutageReport> simulated = Simulate(options, *options.outage);
    if (!simulated.ok()) return simulated.status();
    report = *std::move(simulated);
  }
  std::optional<OutageReport> with_breaker;
  OutageOptions outage_with_breaker;
  if (options.outage && options.breaker) {
    outage_with_breaker = *options.outage;
    outage_with_breaker.breaker = options.breaker;
    absl::StatusOr<OutageReport> simulated = Simulate(options, outage_with_breaker);
    if (!simulated.ok()) return simulated.status();
    with_breaker = *std::move(simulated);
  }
  if (!options.svg_file.empty()) {
    const std::string image =
        report ? OutageSvg(*options.outage, *report) : ScheduleSvg(MakePlan(options.retry));
    if (absl::Status status = WriteImage(options.svg_file, image); !status.ok()) return status;
  }
  if (!report) return PlanText(options);
  if (options.format != PlanOptions::Format::kJson) {
    std::string text = OutageText(*options.outage, *report, PlotStyleFor(STDOUT_FILENO));
    if (with_breaker) {
      absl::StrAppend(&text, "\n", BreakerText(*options.breaker, *report, *with_breaker));
    }
    return text;
  }
  nlohmann::ordered_json json = PlanJson(options);
  json["simulation"] = OutageJson(*options.outage, *report);
  if (with_breaker) {
    json["simulation"]["with_breaker"] = OutageJson(outage_with_breaker, *with_breaker);
  }
  return JsonLine(json).append("\n");
}

}  // namespace retryq::cli
