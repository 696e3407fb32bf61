#include "cli/worker/work_metrics.h"

#include <prometheus/gauge.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <utility>
#include <vector>

namespace retryq::cli {

WorkMetrics::WorkMetrics(prometheus::Labels labels)
    : labels_(std::move(labels)),
      metrics_(registry_),
      returns_blocked_(
          prometheus::BuildGauge()
              .Name("retryq_returns_blocked")
              .Help("1 while copies come due and cannot return to the queue, by reason.")
              .Register(registry_)),
      undelivered_(prometheus::BuildGauge()
                       .Name("retryq_undelivered_copies")
                       .Help("Copies that are due and that quorum delay queues keep, as the queue "
                             "takes none.")
                       .Register(registry_)) {
  prometheus::BuildGauge()
      .Name("retryq_build_info")
      .Help("1, with the version of retryq that runs.")
      .Register(registry_)
      .Add({{"version", RETRYQ_VERSION}})
      .Set(1);
}

void WorkMetrics::BeginStop(const std::string& queue) {
  OnEvent({.kind = EventKind::kInterrupted, .time = {}, .queue = queue, .error = "stopping"});
  stopping_ = true;
}

void WorkMetrics::OnEvent(const Event& event) {
  if (stopping_ && (event.kind == EventKind::kConsuming || event.kind == EventKind::kInterrupted)) {
    return;
  }
  metrics_.OnEvent(event);
  switch (event.kind) {
    case EventKind::kConnected:
      connected_ = true;
      break;
    case EventKind::kDisconnected:
      connected_ = false;
      if (!consuming_) why_not_ = event.error;
      break;
    case EventKind::kConsuming:
      consuming_ = true;
      break;
    case EventKind::kInterrupted:
      consuming_ = false;
      why_not_ = event.error;
      break;
    case EventKind::kBreakerOpened:
      breaker_ = Breaker::State::kOpen;
      breaker_error_ = event.error;
      break;
    case EventKind::kBreakerProbing:
      breaker_ = Breaker::State::kProbing;
      break;
    case EventKind::kBreakerClosed:
      breaker_ = Breaker::State::kClosed;
      break;
    default:
      break;
  }
}

void WorkMetrics::OnReturns(const std::string& queue, const std::optional<ReturnTrouble>& trouble) {
  using Kind = ReturnTrouble::Kind;
  for (const Kind kind : {Kind::kGone, Kind::kFull, Kind::kUndelivered}) {
    returns_blocked_.Add({{"queue", queue}, {"reason", std::string(NameOf(kind))}})
        .Set(trouble && trouble->kind == kind ? 1 : 0);
  }
  undelivered_.Add({{"queue", queue}}).Set(trouble ? static_cast<double>(trouble->undelivered) : 0);
}

std::string WorkMetrics::Text() const {
  std::vector<prometheus::MetricFamily> families = registry_.Collect();
  for (prometheus::MetricFamily& family : families) {
    for (prometheus::ClientMetric& metric : family.metric) {
      for (const auto& [name, value] : labels_) metric.label.push_back({name, value});
    }
  }
  return prometheus::TextSerializer().Serialize(families);
}

std::optional<std::string> WorkMetrics::Trouble() const {
  // After a lost connection a consumer whose breaker is open consumes again only at its end.
  const bool waits = breaker_ == Breaker::State::kOpen && connected_ && !stopping_;
  if (consuming_ || waits) return std::nullopt;
  return why_not_;
}

std::optional<std::string> WorkMetrics::Notice() const {
  if (breaker_ == Breaker::State::kClosed) return std::nullopt;
  return "the circuit breaker is " + std::string(NameOf(breaker_)) + ", after " + breaker_error_;
}

}  // namespace retryq::cli
