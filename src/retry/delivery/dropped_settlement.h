#ifndef RETRYQ_SRC_RETRY_DELIVERY_DROPPED_SETTLEMENT_H_
#define RETRYQ_SRC_RETRY_DELIVERY_DROPPED_SETTLEMENT_H_

#include "absl/status/status.h"
#include "retryq/outcome.h"

namespace retryq {

// The error with which a dropped settlement settles its delivery.
inline absl::Status DroppedSettlement() {
  return absl::UnknownError(
      "the handler dropped its settlement without saying what became of the message");
}

inline bool IsDropped(const Outcome& outcome) {
  return outcome.kind() == Outcome::Kind::kByStatus && outcome.status() == DroppedSettlement();
}

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_DELIVERY_DROPPED_SETTLEMENT_H_
