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

// What `retryq work --metrics` reports about one worker: its metrics, and whether it is of use.
class WorkMetrics final : public Observer {
 public:
  // Each metric has these labels besides its own.
  explicit WorkMetrics(prometheus::Labels labels = {});

  void OnEvent(const Event& event) override;

  // A graceful stop of the consumer of `queue` has begun: from now on it is not consuming.
  void BeginStop(const std::string& queue);

  // Whether copies can return to `queue`, as was found last.
  void OnReturns(const std::string& queue, const std::optional<ReturnTrouble>& trouble);

  // A program of `work --lines` has ended without being told to.
  void OnProgramExit(const std::string& queue) { ProgramExits(queue).Increment(); }

  // Whether COMMAND is of use (`trouble` says why not), and how long the message has been running
  // that runs for longest; zero if none does.
  void OnPrograms(const std::string& queue, std::optional<std::string> trouble,
                  absl::Duration oldest);

  // In Prometheus' text format.
  std::string Text() const;

  // Why no messages are handled; nothing while they are, and while the circuit breaker keeps them
  // waiting.
  std::optional<std::string> Trouble() const;

  // That the circuit breaker does so, and why, and for how long a message has been running, if that
  // is a second or more.
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
