#include <cstddef>

#include "retryq/observer.h"

namespace retryq {
namespace {

struct EventInfo {
  EventKind kind;
  std::string_view name;
  Severity severity;
};

// In the order of EventKind.
constexpr EventInfo kEvents[] = {
    {EventKind::kConnected, "connected", Severity::kInfo},
    {EventKind::kDisconnected, "disconnected", Severity::kWarning},
    {EventKind::kBlocked, "blocked", Severity::kWarning},
    {EventKind::kUnblocked, "unblocked", Severity::kInfo},
    {EventKind::kConsuming, "consuming", Severity::kInfo},
    {EventKind::kInterrupted, "interrupted", Severity::kWarning},
    {EventKind::kDeclared, "declared", Severity::kInfo},
    {EventKind::kRenewed, "renewed", Severity::kDebug},
    {EventKind::kRenamed, "renamed", Severity::kWarning},
    {EventKind::kLapsed, "lapsed", Severity::kInfo},
    {EventKind::kLeaseBroken, "lease_broken", Severity::kError},
    {EventKind::kOverridden, "overridden", Severity::kError},
    {EventKind::kDeclareFailed, "declare_failed", Severity::kError},
    {EventKind::kDelivered, "delivered", Severity::kDebug},
    {EventKind::kHandled, "acked", Severity::kDebug},
    {EventKind::kFailed, "failed", Severity::kInfo},
    {EventKind::kRetried, "retried", Severity::kInfo},
    {EventKind::kParked, "parked", Severity::kWarning},
    {EventKind::kRejected, "rejected", Severity::kWarning},
    {EventKind::kDiscarded, "discarded", Severity::kWarning},
    {EventKind::kSnoozed, "snoozed", Severity::kInfo},
    {EventKind::kRequeued, "requeued", Severity::kInfo},
    {EventKind::kMoved, "moved", Severity::kWarning},
    {EventKind::kForwarded, "forwarded", Severity::kDebug},
    {EventKind::kSkipped, "skipped", Severity::kDebug},
    {EventKind::kReturned, "returned", Severity::kWarning},
    {EventKind::kUnconfirmed, "unconfirmed", Severity::kWarning},
    {EventKind::kHeld, "held", Severity::kError},
    {EventKind::kPublished, "published", Severity::kInfo},
    {EventKind::kBreakerOpened, "breaker_opened", Severity::kWarning},
    {EventKind::kBreakerProbing, "breaker_probing", Severity::kInfo},
    {EventKind::kBreakerClosed, "breaker_closed", Severity::kInfo},
};
constexpr std::size_t kEventKinds = sizeof(kEvents) / sizeof(kEvents[0]);

constexpr bool AreInOrder() {
  for (std::size_t i = 0; i < kEventKinds; ++i) {
    if (kEvents[i].kind != static_cast<EventKind>(i)) return false;
  }
  return kEventKinds == static_cast<std::size_t>(EventKind::kBreakerClosed) + 1;
}
static_assert(AreInOrder());

}  // namespace

std::string_view EventName(EventKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  return index < kEventKinds ? kEvents[index].name : "unknown";
}

Severity SeverityOf(EventKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  return index < kEventKinds ? kEvents[index].severity : Severity::kError;
}

std::string_view SeverityName(Severity severity) {
  switch (severity) {
    case Severity::kDebug:
      return "debug";
    case Severity::kInfo:
      return "info";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      return "error";
  }
  return "error";
}

}  // namespace retryq
