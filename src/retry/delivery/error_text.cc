#include "retry/delivery/error_text.h"

#include <utf8.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "absl/strings/string_view.h"

namespace retryq {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

bool IsContinuation(char byte) { return (byte & 0xC0) == 0x80; }

// Most texts are ASCII, which needs no decoding.
std::string_view ValidBeginning(std::string_view text) {
  const auto decoded_from =
      std::find_if(text.begin(), text.end(), [](char byte) { return (byte & 0x80) != 0; });
  return {text.begin(), utf8::find_invalid(decoded_from, text.end())};
}

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
  if (message.empty()) {
    out->assign(prefix.substr(0, prefix.size() - kSeparator.size()));
    return;
  }
  out->assign(code == absl::StatusCode::kUnknown ? std::string_view() : prefix);
  out->append(message.data(), message.size());
}

std::string_view AsUtf8(std::string_view text, std::size_t max_size, std::string* repaired) {
  std::string_view valid = ValidBeginning(text);
  if (valid.size() == text.size()) return CutUtf8(text, max_size);
  repaired->clear();
  while (true) {
    const std::string_view fitting = CutUtf8(valid, max_size - repaired->size());
    repaired->append(fitting);
    text.remove_prefix(fitting.size());
    const bool cut = fitting.size() < valid.size();
    if (cut || text.empty() || kReplacement.size() > max_size - repaired->size()) return *repaired;
    repaired->append(kReplacement);
    text.remove_prefix(1);
    valid = ValidBeginning(text);
  }
}

std::string_view CutUtf8(std::string_view text, std::size_t max_size) {
  if (text.size() <= max_size) return text;
  std::size_t size = max_size;
  while (size > 0 && max_size - size < 3 && IsContinuation(text[size])) --size;
  return text.substr(0, size);
}

}  // namespace retryq
