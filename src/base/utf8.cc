#include "base/utf8.h"

#include <utf8.h>

#include <cstdint>
#include <cstring>

namespace retryq {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

bool IsContinuation(char byte) { return (byte & 0xC0) == 0x80; }

// Returns how many bytes at the beginning are ASCII, or up to 7 fewer, because it checks 8 bytes at
// a time.
std::size_t AsciiBeginning(std::string_view text) {
  std::size_t size = 0;
  for (std::uint64_t word = 0; size + sizeof(word) <= text.size(); size += sizeof(word)) {
    std::memcpy(&word, text.data() + size, sizeof(word));
    if ((word & 0x8080808080808080) != 0) break;
  }
  return size;
}

// Most texts are ASCII, which needs no decoding.
std::string_view ValidBeginning(std::string_view text) {
  return {text.begin(), utf8::find_invalid(text.begin() + AsciiBeginning(text), text.end())};
}

}  // namespace

bool IsUtf8(std::string_view text) { return utf8::is_valid(text.begin(), text.end()); }

std::string_view CutUtf8(std::string_view text, std::size_t max_size) {
  if (text.size() <= max_size) return text;
  std::size_t size = max_size;
  while (size > 0 && max_size - size < 3 && IsContinuation(text[size])) --size;
  return text.substr(0, size);
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

}  // namespace retryq
