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
  if (event.kind == EventKind::kConsuming) {
    consuming_ = true;
  } else if (event.kind == EventKind::kInterrupted) {
    consuming_ = false;
    why_not_ = event.error;
  } else if (event.kind == EventKind::kDisconnected && !consuming_) {
    why_not_ = event.error;
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
  if (consuming_) return std::nullopt;
  return why_not_;
}

}  // namespace retryq::cli
