#include "fault/report.h"

#include <iostream>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"

namespace retryq::fault {
namespace {

// The result of a run in words; empty if it failed.
std::string Verdict(const Fault& fault, const std::string& queue_type, const SceneResult& result) {
  if (!result.failure.empty()) return "";
  if (result.count.lost == 0 && result.stuck > 0) {
    return absl::StrCat("ok: ", result.stuck, " waited until the nodes were restarted");
  }
  if (result.count.lost == 0) return "ok";
  if (queue_type != "classic" || fault.classic_may_lose.empty()) return "";
  return absl::StrCat("ok: lost by RabbitMQ itself (", fault.classic_may_lose, ")");
}

// The columns about the unaffected work queue and about poison; empty if there was none.
std::string Others(const SceneResult& result) {
  std::string words;
  if (result.unaffected.has_value()) {
    absl::StrAppend(
        &words, absl::StrFormat("; unaffected: %d sent, %d lost, %d twice", result.unaffected->sent,
                                result.unaffected->lost + result.unaffected->waiting,
                                result.unaffected->duplicates));
    if (result.lateness.has_value()) {
      absl::StrAppend(&words, absl::StrFormat(", at most %.2f s late",
                                              absl::ToDoubleSeconds(*result.lateness)));
    }
  }
  if (result.poison.has_value()) {
    absl::StrAppend(&words, "; poison: ", result.poison->parked, " of ", result.poison->sent,
                    " parked");
  }
  return words;
}

std::string Line(const std::string& fault, const std::string& queue_type, std::string_view rest) {
  return absl::StrFormat("%-22s %-8s%s\n", fault, queue_type, std::string(rest));
}

}  // namespace

Report::Report() : runs_(std::make_unique<nlohmann::json>(nlohmann::json::array())) {
  std::cout << Line("fault", "queues",
                    absl::StrFormat("%7s %7s %7s %7s %7s %7s %9s", "sent", "handled", "parked",
                                    "twice", "destr.", "lost", "recovery"))
            << std::flush;
}

Report::~Report() = default;

void Report::Begin(const Fault& fault, const std::string& queue_type) {
  const std::lock_guard lock(mutex_);
  std::cerr << "test/fault: " << fault.name << ' ' << queue_type << std::endl;
}

void Report::End(const Fault& fault, const std::string& queue_type, const SceneResult& result) {
  const Count& count = result.count;
  const std::string recovery =
      result.recovery.has_value()
          ? absl::StrFormat("%.1f s", absl::ToDoubleSeconds(*result.recovery))
          : "-";
  const std::lock_guard lock(mutex_);
  const std::string verdict = Verdict(fault, queue_type, result);
  std::string words = verdict;
  if (verdict.empty()) {
    words = absl::StrCat("FAILED", result.failure.empty() ? "" : ": ", result.failure);
  }
  words += Others(result);
  if (result.stop.has_value()) {
    absl::StrAppend(&words,
                    absl::StrFormat(" (stopped in %.1f s)", absl::ToDoubleSeconds(*result.stop)));
  }
  ++(verdict.empty() ? failed_ : passed_);
  std::cout << Line(fault.name, queue_type,
                    absl::StrFormat("%7d %7d %7d %7d %7d %7d %9s  %s", count.sent, count.handled,
                                    count.parked, count.duplicates, count.destroyed, count.lost,
                                    recovery, words))
            << std::flush;
  nlohmann::json run = {{"fault", fault.name},
                        {"queue_type", queue_type},
                        {"sent", count.sent},
                        {"handled", count.handled},
                        {"parked", count.parked},
                        {"waiting", count.waiting},
                        {"duplicates", count.duplicates},
                        {"destroyed", count.destroyed},
                        {"lost", count.lost},
                        {"stuck", result.stuck},
                        {"passed", !verdict.empty()},
                        {"verdict", words}};
  if (result.unaffected.has_value()) {
    run["unaffected"] = {{"sent", result.unaffected->sent},
                         {"lost", result.unaffected->lost + result.unaffected->waiting},
                         {"duplicates", result.unaffected->duplicates}};
    if (result.lateness.has_value()) {
      run["unaffected"]["late_ms"] = absl::ToInt64Milliseconds(*result.lateness);
    }
  }
  if (result.stop.has_value()) run["stop_ms"] = absl::ToInt64Milliseconds(*result.stop);
  if (result.recovery.has_value()) run["recovery_ms"] = absl::ToInt64Milliseconds(*result.recovery);
  runs_->push_back(std::move(run));
}

void Report::Skip(const Fault& fault, const std::string& queue_type, std::string_view why) {
  const std::lock_guard lock(mutex_);
  ++skipped_;
  std::cout << Line(fault.name, queue_type, absl::StrCat(" skipped: ", std::string(why)))
            << std::flush;
  runs_->push_back(
      {{"fault", fault.name}, {"queue_type", queue_type}, {"skipped", std::string(why)}});
}

void Report::SetVersion(const std::string& version) {
  const std::lock_guard lock(mutex_);
  version_ = version;
}

bool Report::Finish() {
  const std::lock_guard lock(mutex_);
  if (!version_.empty()) std::cout << "on RabbitMQ " << version_ << '\n';
  if (skipped_ > 0) std::cout << skipped_ << " skipped\n";
  std::cout << passed_ << " passed, " << failed_ << " failed" << std::endl;
  return passed_ > 0 && failed_ == 0;
}

nlohmann::json Report::ToJson() const {
  const std::lock_guard lock(mutex_);
  return {{"time", absl::FormatTime(absl::Now())}, {"rabbitmq", version_}, {"runs", *runs_}};
}

}  // namespace retryq::fault
