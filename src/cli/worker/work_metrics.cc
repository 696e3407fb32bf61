#include "cli/worker/work_metrics.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <utility>
#include <vector>

#include "absl/strings/str_join.h"

namespace retryq::cli {

WorkMetrics::WorkMetrics(const std::string& queue, prometheus::Labels labels)
    : queue_(queue),
      labels_(std::move(labels)),
      metrics_(registry_),
      returns_blocked_(
          prometheus::BuildGauge()
              .Name("retryq_returns_blocked")
              .Help("1 while copies come due and cannot return to the queue, by reason.")
              .Register(registry_)),
      undelivered_(prometheus::BuildGauge()
                       .Name("retryq_undelivered_copies")
                       .Help("Due copies that quorum delay queues keep because the work queue "
                             "accepts none.")
                       .Register(registry_)
                       .Add({{"queue", queue}})),
      program_exits_(prometheus::BuildCounter()
                         .Name("retryq_program_exits_total")
                         .Help("Programs of work --lines that have exited by themselves.")
                         .Register(registry_)
                         .Add({{"queue", queue}})),
      oldest_running_(prometheus::BuildGauge()
                          .Name("retryq_oldest_running_seconds")
                          .Help("How long the oldest running message has been running; 0 if no "
                                "message runs.")
                          .Register(registry_)
                          .Add({{"queue", queue}})) {
  OnReturns(std::nullopt);
  prometheus::BuildGauge()
      .Name("retryq_build_info")
      .Help("Always 1; the label is the version of retryq.")
      .Register(registry_)
      .Add({{"version", RETRYQ_VERSION}})
      .Set(1);
}

void WorkMetrics::BeginStop() {
  OnEvent({.kind = EventKind::kInterrupted, .time = {}, .queue = queue_, .error = "stopping"});
  stopping_ = true;
}

void WorkMetrics::OnEvent(const Event& event) {
  if (stopping_ && (event.kind == EventKind::kConsuming || event.kind == EventKind::kInterrupted)) {
    return;
  }
  metrics_.OnEvent(event);
  if (event.in_flight == 0) refused_.clear();  // a message whose copy is refused stays open
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
      refused_.clear();  // the messages whose copies were refused have been requeued
      break;
    case EventKind::kHeld:
      // A body that is too large does not mean that other messages would fail.
      if (event.delivery != nullptr && event.delivery->message()->left_out > 0) break;
      [[fallthrough]];
    case EventKind::kDeclareFailed:
    case EventKind::kUnconfirmed:
      refused_ = event.error;
      break;
    case EventKind::kDeclared:
    case EventKind::kRenewed:
    case EventKind::kRetried:
    case EventKind::kSnoozed:
    case EventKind::kForwarded:
    case EventKind::kParked:
      refused_.clear();
      break;
    case EventKind::kInterrupted:
      consuming_ = false;
      refused_.clear();
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

void WorkMetrics::OnReturns(const std::optional<ReturnTrouble>& trouble) {
  using Kind = ReturnTrouble::Kind;
  for (const Kind kind : {Kind::kGone, Kind::kFull, Kind::kRedirected, Kind::kUndelivered}) {
    returns_blocked_.Add({{"queue", queue_}, {"reason", std::string(NameOf(kind))}})
        .Set(trouble && trouble->kind == kind ? 1 : 0);
  }
  undelivered_.Set(trouble ? static_cast<double>(trouble->undelivered) : 0);
}

void WorkMetrics::OnPrograms(std::optional<std::string> trouble, absl::Duration oldest) {
  oldest_running_.Set(absl::ToDoubleSeconds(oldest));
  command_trouble_ = std::move(trouble);
  oldest_ = oldest;
}

std::string WorkMetrics::Text() const {
  std::vector<prometheus::MetricFamily> families = registry_.Collect();
  for (prometheus::MetricFamily& family : families) {
    const bool is_vain = command_trouble_ && family.name == "retryq_consuming";
    for (prometheus::ClientMetric& metric : family.metric) {
      if (is_vain) metric.gauge.value = 0;
      for (const auto& [name, value] : labels_) metric.label.push_back({name, value});
    }
  }
  return prometheus::TextSerializer().Serialize(families);
}

std::optional<std::string> WorkMetrics::Trouble() const {
  // After a lost connection, a consumer whose breaker is open starts to consume only when the pause
  // of the breaker ends.
  const bool waits = breaker_ == Breaker::State::kOpen && connected_ && !stopping_;
  if (!consuming_ && !waits) return why_not_;
  if (!command_trouble_ && !refused_.empty()) {
    return "messages that fail can be neither retried nor parked: " + refused_;
  }
  return command_trouble_;
}

std::optional<std::string> WorkMetrics::Notice() const {
  std::vector<std::string> notices;
  if (breaker_ != Breaker::State::kClosed) {
    notices.push_back("the circuit breaker is " + std::string(NameOf(breaker_)) + ", after " +
                      breaker_error_);
  }
  if (oldest_ >= absl::Seconds(1)) {
    notices.push_back("a message has been running for " + RunningWatch::Seconds(oldest_));
  }
  if (notices.empty()) return std::nullopt;
  return absl::StrJoin(notices, "; ");
}

}  // namespace retryq::cli
