#include "retry/delivery/error_text.h"

#include <array>
#include <cstddef>
#include <string_view>

#include "absl/strings/string_view.h"

namespace retryq {
namespace {

// By code, with the separator. absl::StatusCodeToString allocates memory for the longer ones.
constexpr std::string_view kSeparator = ": ";
constexpr std::array<std::string_view, 17> kPrefixes = {
    "OK: ",
    "CANCELLED: ",
    "UNKNOWN: ",
    "INVALID_ARGUMENT: ",
    "DEADLINE_EXCEEDED: ",
    "NOT_FOUND: ",
    "ALREADY_EXISTS: ",
    "PERMISSION_DENIED: ",
    "RESOURCE_EXHAUSTED: ",
    "FAILED_PRECONDITION: ",
    "ABORTED: ",
    "OUT_OF_RANGE: ",
    "UNIMPLEMENTED: ",
    "INTERNAL: ",
    "UNAVAILABLE: ",
    "DATA_LOSS: ",
    "UNAUTHENTICATED: ",
};

}  // namespace

std::string ErrorText(const absl::Status& error) {
  std::string text;
  AssignErrorText(error, &text);
  return text;
}

void AssignErrorText(const absl::Status& error, std::string* out) {
  const absl::StatusCode code = error.code();
  const absl::string_view message = error.message();
  const std::string_view prefix = kPrefixes[static_cast<std::size_t>(code)];
  out->clear();
  if (message.empty()) {
    out->append(prefix.substr(0, prefix.size() - kSeparator.size()));
    return;
  }
  if (code != absl::StatusCode::kUnknown) out->append(prefix);
  out->append(message.data(), message.size());
}

}  // namespace retryq
