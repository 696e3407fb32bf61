#include "cli/text/escaped_text.h"

#include <utf8.h>

#include <cstdint>

#include "absl/strings/str_format.h"

namespace retryq::cli {
namespace {

bool IsHarmful(std::uint32_t value) {
  const auto is_between = [value](std::uint32_t first, std::uint32_t last) {
    return value >= first && value <= last;
  };
  return value < 0x20 || is_between(0x7F, 0x9F) || value == 0x061C || is_between(0x200E, 0x200F) ||
         is_between(0x2028, 0x202E) || is_between(0x2066, 0x2069) || value == 0xFEFF;
}

// The front of `text` that is UTF-8.
std::string_view ValidFront(std::string_view text) {
  return {text.begin(), utf8::find_invalid(text.begin(), text.end())};
}

// Takes the code point at the front of `text`, which is UTF-8 and not empty.
std::uint32_t TakePoint(std::string_view& text) {
  const auto* next = text.begin();
  const std::uint32_t point = utf8::unchecked::next(next);
  text = {next, text.end()};
  return point;
}

std::string Escape(std::string_view text, std::string_view unescaped) {
  std::string safe;
  safe.reserve(text.size());
  while (true) {
    std::string_view valid = ValidFront(text);
    text.remove_prefix(valid.size());
    while (!valid.empty()) {
      const std::string_view from = valid;
      const std::uint32_t point = TakePoint(valid);
      if (!IsHarmful(point) || unescaped.find(from.front()) != std::string_view::npos) {
        safe.append(from.substr(0, from.size() - valid.size()));
      } else {
        safe += absl::StrFormat("\\u{%X}", point);
      }
    }
    if (text.empty()) return safe;
    safe += absl::StrFormat("\\x%02X", static_cast<unsigned char>(text.front()));
    text.remove_prefix(1);
  }
}

}  // namespace

std::string EscapedText(std::string_view text) { return Escape(text, ""); }

std::string EscapedLines(std::string_view text) { return Escape(text, "\n\t"); }

bool IsUtf8(std::string_view text) { return utf8::is_valid(text.begin(), text.end()); }

bool IsPlainText(std::string_view text) {
  if (!IsUtf8(text)) return false;
  while (!text.empty()) {
    const char front = text.front();
    const bool is_space = front == '\n' || front == '\t' || front == '\r';
    if (IsHarmful(TakePoint(text)) && !is_space) return false;
  }
  return true;
}

}  // namespace retryq::cli
