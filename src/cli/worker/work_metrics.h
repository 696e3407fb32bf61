#ifndef RETRYQ_CLI_WORKER_WORK_METRICS_H_
#define RETRYQ_CLI_WORKER_WORK_METRICS_H_

#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/labels.h>
#include <prometheus/registry.h>

#include <optional>
#include <string>

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

  // In Prometheus' text format.
  std::string Text() const;

  // Why no messages are consumed; nothing while they are, and while the circuit breaker keeps them
  // waiting.
  std::optional<std::string> Trouble() const;

  // That the circuit breaker does so, and why; nothing while it is closed.
  std::optional<std::string> Notice() const;

 private:
  const prometheus::Labels labels_;
  prometheus::Registry registry_;
  PrometheusMetrics metrics_;
  prometheus::Family<prometheus::Gauge>& returns_blocked_;
  prometheus::Family<prometheus::Gauge>& undelivered_;
  bool connected_ = false;
  bool consuming_ = false;
  Breaker::State breaker_ = Breaker::State::kClosed;
  std::string breaker_error_;
  bool stopping_ = false;
  std::string why_not_ = "not connected yet";
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_WORK_METRICS_H_
