#ifndef RETRYQ_CLI_WORKER_WORK_METRICS_H_
#define RETRYQ_CLI_WORKER_WORK_METRICS_H_

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/labels.h>
#include <prometheus/registry.h>

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/worker/broker_checks.h"
#include "retryq/breaker.h"
#include "retryq/observer.h"
#include "retryq/prometheus_metrics.h"

namespace retryq::cli {

// Notices a message that runs ten times as long as the average of the last messages, and at least a
// second; a minute before the first one has ended. Reports each message once.
class RunningWatch {
 public:
  // Records the run time of a message that has ended.
  void Ended(absl::Duration took) {
    ended_ = std::min(ended_ + 1, kLately);
    usual_ += (took - usual_) / ended_;
  }

  // Returns a warning about the message that has been running longest, if necessary: once for each
  // message. Times are since boot.
  std::optional<std::string> Look(absl::Duration now, absl::Duration begun) {
    const absl::Duration running = now - begun;
    const absl::Duration much =
        ended_ == 0 ? absl::Minutes(1) : std::max(10 * usual_, absl::Seconds(1));
    if (running < much || begun <= said_) return std::nullopt;
    said_ = begun;
    return absl::StrCat(
        "it has been running for ", Seconds(running), ", ",
        ended_ == 0 ? "and no message has ended so far"
                    : absl::StrCat("more than ten times as long as usual (", Seconds(usual_), ")"),
        "; --timeout ends programs that hang");
  }

  // "1.25s"
  static std::string Seconds(absl::Duration time) {
    return absl::FormatDuration(
        absl::Trunc(time, absl::Milliseconds(time < absl::Seconds(10) ? 1 : 1000)));
  }

 private:
  static constexpr int kLately = 16;

  absl::Duration usual_ = absl::ZeroDuration();
  int ended_ = 0;                                    // up to kLately
  absl::Duration said_ = -absl::InfiniteDuration();  // when the reported message began, since boot
};

// The metrics of one worker and its health, for `retryq work --metrics`.
class WorkMetrics final : public Observer {
 public:
  // The consumer of `queue`. Adds these labels to each metric.
  explicit WorkMetrics(const std::string& queue, prometheus::Labels labels = {});

  void OnEvent(const Event& event) override;

  // The graceful stop has begun: from now on the consumer counts as not consuming.
  void BeginStop();

  // The last result of the check whether copies can return to the queue.
  void OnReturns(const std::optional<ReturnTrouble>& trouble);

  // A program of `work --lines` has exited by itself.
  void OnProgramExit() { program_exits_.Increment(); }

  // `trouble`: why COMMAND does not work. `oldest`: how long the longest-running message has been
  // running; zero if none runs.
  void OnPrograms(std::optional<std::string> trouble, absl::Duration oldest);

  // The metrics in Prometheus' text format.
  std::string Text() const;

  // Returns why no messages are handled, or why failed ones cannot be retried. An open circuit
  // breaker is no trouble.
  std::optional<std::string> Trouble() const;

  // About a circuit breaker that is not closed, and a message that has been running for a second.
  std::optional<std::string> Notice() const;

 private:
  const std::string queue_;
  const prometheus::Labels labels_;
  prometheus::Registry registry_;
  PrometheusMetrics metrics_;
  prometheus::Family<prometheus::Gauge>& returns_blocked_;
  prometheus::Gauge& undelivered_;
  prometheus::Counter& program_exits_;
  prometheus::Gauge& oldest_running_;
  std::optional<std::string> command_trouble_;
  absl::Duration oldest_;
  bool connected_ = false;
  bool consuming_ = false;
  Breaker::State breaker_ = Breaker::State::kClosed;
  std::string breaker_error_;
  bool stopping_ = false;
  std::string why_not_ = "not connected yet";
  // Why the broker accepted no copy, until it accepts one or no message is open.
  std::string refused_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_WORK_METRICS_H_
