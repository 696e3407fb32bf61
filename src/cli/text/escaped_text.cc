#include "cli/text/escaped_text.h"

#include <cstddef>
#include <cstdint>

#include "absl/strings/str_format.h"

namespace retryq::cli {
namespace {

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t size = 0;  // bytes that it takes; 0 where they are not UTF-8
};

unsigned char Byte(char c) { return static_cast<unsigned char>(c); }

// Bytes of the code point that begins with this one; 0 where none does.
std::size_t SizeFrom(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) return 2;
  if (first >= 0xE0 && first < 0xF0) return 3;
  if (first >= 0xF0 && first < 0xF5) return 4;
  return 0;
}

bool IsInRange(std::uint32_t value, std::size_t size) {
  if (size == 3) return value >= 0x800 && (value < 0xD800 || value > 0xDFFF);
  if (size == 4) return value >= 0x10000 && value <= 0x10FFFF;
  return true;
}

// The code point at the front of `text`, which is not empty.
CodePoint Front(std::string_view text) {
  const unsigned char first = Byte(text.front());
  const std::size_t size = SizeFrom(first);
  if (size == 0 || size > text.size()) return {};
  if (size == 1) return {.value = first, .size = 1};
  std::uint32_t value = first & (0x7FU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    const unsigned char next = Byte(text[i]);
    if ((next & 0xC0U) != 0x80U) return {};
    value = (value << 6U) | (next & 0x3FU);
  }
  return IsInRange(value, size) ? CodePoint{.value = value, .size = size} : CodePoint{};
}

bool IsHarmful(std::uint32_t value) {
  const auto is_between = [value](std::uint32_t first, std::uint32_t last) {
    return value >= first && value <= last;
  };
  return value < 0x20 || is_between(0x7F, 0x9F) || value == 0x061C || is_between(0x200E, 0x200F) ||
         is_between(0x2028, 0x202E) || is_between(0x2066, 0x2069) || value == 0xFEFF;
}

std::string Escape(std::string_view text, std::string_view unescaped) {
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    const CodePoint point = Front(text);
    if (point.size == 0) {
      safe += absl::StrFormat("\\x%02X", Byte(text.front()));
      text.remove_prefix(1);
      continue;
    }
    const bool stays = !IsHarmful(point.value) ||
                       (point.size == 1 && unescaped.find(text.front()) != std::string_view::npos);
    if (stays) {
      safe.append(text.substr(0, point.size));
    } else {
      safe += absl::StrFormat("\\u{%X}", point.value);
    }
    text.remove_prefix(point.size);
  }
  return safe;
}

}  // namespace

std::string EscapedText(std::string_view text) { return Escape(text, ""); }

std::string EscapedLines(std::string_view text) { return Escape(text, "\n\t"); }

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = Front(text).size;
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

bool IsPlainText(std::string_view text) {
  while (!text.empty()) {
    const CodePoint point = Front(text);
    if (point.size == 0) return false;
    const char front = text.front();
    const bool is_space = point.size == 1 && (front == '\n' || front == '\t' || front == '\r');
    if (IsHarmful(point.value) && !is_space) return false;
    text.remove_prefix(point.size);
  }
  return true;
}

}  // namespace retryq::cli
