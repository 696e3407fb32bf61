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
  }
  return "unknown";
}

}  // namespace retryq
