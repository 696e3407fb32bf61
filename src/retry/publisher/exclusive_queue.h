#ifndef RETRYQ_SRC_RETRY_PUBLISHER_EXCLUSIVE_QUEUE_H_
#define RETRYQ_SRC_RETRY_PUBLISHER_EXCLUSIVE_QUEUE_H_

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace retryq {

// Adds an explanation to the error of a passive declare that is refused with 405 (kAborted): no
// other connection can ever use that queue, so waiting does not help. Returns all other answers
// unchanged.
inline absl::Status ExplainIfExclusive(const absl::Status& answer) {
  if (!absl::IsAborted(answer)) return answer;
  return absl::FailedPreconditionError(absl::StrCat(
      answer.message(),
      "; it is exclusive to the connection that declared it; remedy: declare it durable, and not "
      "exclusive"));
}

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_PUBLISHER_EXCLUSIVE_QUEUE_H_
