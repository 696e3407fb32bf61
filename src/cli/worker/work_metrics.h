#ifndef RETRYQ_CLI_WORKER_WORK_METRICS_H_
#define RETRYQ_CLI_WORKER_WORK_METRICS_H_

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/labels.h>
#include <prometheus/registry.h>

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "cli/worker/return_watch.h"
#include "retryq/breaker.h"
#include "retryq/observer.h"
#include "retryq/prometheus_metrics.h"

namespace retryq::cli {

// The metrics of one worker and its health, for `retryq work --metrics`.
class WorkMetrics final : public Observer {
 public:
  // Adds these labels to each metric.
  explicit WorkMetrics(prometheus::Labels labels = {});

  void OnEvent(const Event& event) override;

  // The graceful stop of the consumer of `queue` has begun: from now on it counts as not consuming.
  void BeginStop(const std::string& queue);

  // The last result of the check whether copies can return to `queue`.
  void OnReturns(const std::string& queue, const std::optional<ReturnTrouble>& trouble);

  // A program of `work --lines` has ended without being told to.
  void OnProgramExit(const std::string& queue) { ProgramExits(queue).Increment(); }

  // `trouble` is the reason why COMMAND does not work, if it does not. `oldest` is how long the
  // longest-running message has been running; zero if none runs.
  void OnPrograms(const std::string& queue, std::optional<std::string> trouble,
                  absl::Duration oldest);

  // The metrics in Prometheus' text format.
  std::string Text() const;

  // Returns why no messages are handled; nullopt if they are, or if the circuit breaker is open.
  std::optional<std::string> Trouble() const;

  // Returns the state and cause of the circuit breaker unless it is closed, and how long a message
  // has been running if that is a second or more.
  std::optional<std::string> Notice() const;

 private:
  prometheus::Counter& ProgramExits(const std::string& queue) {
    return program_exits_.Add({{"queue", queue}});
  }

  const prometheus::Labels labels_;
  prometheus::Registry registry_;
  PrometheusMetrics metrics_;
  prometheus::Family<prometheus::Gauge>& returns_blocked_;
  prometheus::Family<prometheus::Gauge>& undelivered_;
  prometheus::Family<prometheus::Counter>& program_exits_;
  prometheus::Family<prometheus::Gauge>& oldest_running_;
  std::optional<std::string> command_trouble_;
  absl::Duration oldest_;
  bool connected_ = false;
  bool consuming_ = false;
  Breaker::State breaker_ = Breaker::State::kClosed;
  std::string breaker_error_;
  bool stopping_ = false;
  std::string why_not_ = "not connected yet";
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_WORK_METRICS_H_
