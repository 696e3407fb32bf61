#include "cli/worker/work_metrics.h"

#include <prometheus/gauge.h>
#include <prometheus/text_serializer.h>

namespace retryq::cli {

WorkMetrics::WorkMetrics() : metrics_(registry_) {
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

std::string WorkMetrics::Text() const {
  return prometheus::TextSerializer().Serialize(registry_.Collect());
}

std::optional<std::string> WorkMetrics::Trouble() const {
  if (consuming_) return std::nullopt;
  return why_not_;
}

}  // namespace retryq::cli
