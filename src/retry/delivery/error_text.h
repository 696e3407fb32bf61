#ifndef RETRYQ_SRC_RETRY_DELIVERY_ERROR_TEXT_H_
#define RETRYQ_SRC_RETRY_DELIVERY_ERROR_TEXT_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"

namespace retryq {

// The largest size of an error text in a message, in bytes.
inline constexpr std::size_t kMaxErrorSize = 1024;

// The error with which a dropped settlement settles its delivery.
inline absl::Status DroppedSettlement() {
  return absl::UnknownError(
      "the handler dropped its settlement without saying what became of the message");
}

// Returns the error as text for people: "UNAVAILABLE: connection refused". The code UNKNOWN is left
// out. An error without a message is only its code.
std::string ErrorText(const absl::Status& error);
// Assigns that text to `*out`, and reuses its memory.
void AssignErrorText(const absl::Status& error, std::string* out);

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_DELIVERY_ERROR_TEXT_H_
