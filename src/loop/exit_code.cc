#include <sysexits.h>

#include "retryq/event_loop.h"

namespace retryq {

int ExitCode(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return EX_OK;
    case absl::StatusCode::kInvalidArgument:
      return EX_USAGE;
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kFailedPrecondition:
      return EX_UNAVAILABLE;
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
      return EX_NOPERM;
    case absl::StatusCode::kResourceExhausted:
      return EX_OSERR;
    default:
      return EX_SOFTWARE;
  }
}

}  // namespace retryq
