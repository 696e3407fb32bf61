#include "retry/delivery/error_text.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/strings/string_view.h"

namespace retryq {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

std::uint8_t ByteAt(std::string_view text, std::size_t index) {
  return static_cast<std::uint8_t>(text[index]);
}

bool IsContinuation(std::uint8_t byte) { return (byte & 0xC0) == 0x80; }

// Bytes of the code point at the start of `text`, which is not empty; 0 if it is not valid. Table
// 3-7 of the Unicode standard: only the second byte's range depends on the first.
std::size_t CodePointSize(std::string_view text) {
  const std::uint8_t first = ByteAt(text, 0);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const std::size_t size = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (text.size() < size) return 0;

  const std::uint8_t lowest = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const std::uint8_t highest = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (ByteAt(text, 1) < lowest || ByteAt(text, 1) > highest) return 0;
  for (std::size_t i = 2; i < size; ++i) {
    if (!IsContinuation(ByteAt(text, i))) return 0;
  }
  return size;
}

bool IsAsciiWord(const char* bytes) {
  constexpr std::uint64_t kNotAscii = 0x8080'8080'8080'8080;
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof(word));
  return (word & kNotAscii) == 0;
}

// Of ASCII: all of it, or less than it begins with, as it is looked at in whole words.
std::size_t AsciiWordsSize(std::string_view text) {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  if (text.size() < kWord) return 0;
  const std::size_t last = text.size() - kWord;
  for (std::size_t size = 0; size < last; size += kWord) {
    if (!IsAsciiWord(text.data() + size)) return size;
  }
  return IsAsciiWord(text.data() + last) ? text.size() : last;
}

std::string_view ValidBeginning(std::string_view text) {
  std::string_view rest = text.substr(AsciiWordsSize(text));
  while (!rest.empty()) {
    const std::size_t size = CodePointSize(rest);
    if (size == 0) break;
    rest.remove_prefix(size);
  }
  return text.substr(0, text.size() - rest.size());
}

// By code, as they stand in front of a message. absl::StatusCodeToString allocates the longer ones.
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
  while (size > 0 && max_size - size < 3 && IsContinuation(ByteAt(text, size))) --size;
  return text.substr(0, size);
}

}  // namespace retryq
