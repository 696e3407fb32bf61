#include "retryq/observer.h"

namespace retryq {

std::string_view EventName(EventKind kind) {
  switch (kind) {
    case EventKind::kConnected:
      return "connected";
    case EventKind::kDisconnected:
      return "disconnected";
    case EventKind::kBlocked:
      return "blocked";
    case EventKind::kUnblocked:
      return "unblocked";
    case EventKind::kConsuming:
      return "consuming";
    case EventKind::kInterrupted:
      return "interrupted";
    case EventKind::kDeclared:
      return "declared";
    case EventKind::kRenewed:
      return "renewed";
    case EventKind::kRenamed:
      return "renamed";
    case EventKind::kLapsed:
      return "lapsed";
    case EventKind::kLeaseBroken:
      return "lease_broken";
    case EventKind::kOverridden:
      return "overridden";
    case EventKind::kDeclareFailed:
      return "declare_failed";
    case EventKind::kDelivered:
      return "delivered";
    case EventKind::kHandled:
      return "acked";
    case EventKind::kFailed:
      return "failed";
    case EventKind::kRetried:
      return "retried";
    case EventKind::kParked:
      return "parked";
    case EventKind::kRejected:
      return "rejected";
    case EventKind::kSnoozed:
      return "snoozed";
    case EventKind::kRequeued:
      return "requeued";
    case EventKind::kMoved:
      return "moved";
    case EventKind::kForwarded:
      return "forwarded";
    case EventKind::kDiscarded:
      return "discarded";
    case EventKind::kSkipped:
      return "skipped";
    case EventKind::kReturned:
      return "returned";
    case EventKind::kUnconfirmed:
      return "unconfirmed";
    case EventKind::kHeld:
      return "held";
    case EventKind::kPublished:
      return "published";
    case EventKind::kBreakerOpened:
      return "breaker_opened";
    case EventKind::kBreakerProbing:
      return "breaker_probing";
    case EventKind::kBreakerClosed:
      return "breaker_closed";
  }
  return "unknown";
}

Severity SeverityOf(EventKind kind) {
  switch (kind) {
    case EventKind::kDelivered:
    case EventKind::kHandled:
    case EventKind::kForwarded:
    case EventKind::kSkipped:
    case EventKind::kRenewed:
      return Severity::kDebug;
    case EventKind::kConnected:
    case EventKind::kUnblocked:
    case EventKind::kConsuming:
    case EventKind::kDeclared:
    case EventKind::kLapsed:
    case EventKind::kFailed:
    case EventKind::kRetried:
    case EventKind::kSnoozed:
    case EventKind::kRequeued:
    case EventKind::kPublished:
    case EventKind::kBreakerProbing:
    case EventKind::kBreakerClosed:
      return Severity::kInfo;
    case EventKind::kDisconnected:
    case EventKind::kBlocked:
    case EventKind::kInterrupted:
    case EventKind::kRenamed:
    case EventKind::kParked:
    case EventKind::kRejected:
    case EventKind::kDiscarded:
    case EventKind::kMoved:
    case EventKind::kReturned:
    case EventKind::kUnconfirmed:
    case EventKind::kBreakerOpened:
      return Severity::kWarning;
    case EventKind::kLeaseBroken:
    case EventKind::kOverridden:
    case EventKind::kDeclareFailed:
    case EventKind::kHeld:
      return Severity::kError;
  }
  return Severity::kError;
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
