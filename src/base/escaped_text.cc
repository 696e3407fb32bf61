#include "base/escaped_text.h"

#include <utf8.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/strings/str_format.h"
#include "base/utf8.h"

namespace retryq {
namespace {

bool IsHarmful(std::uint32_t value) {
  const auto is_between = [value](std::uint32_t first, std::uint32_t last) {
    return value >= first && value <= last;
  };
  return value < 0x20 || is_between(0x7F, 0x9F) || value == 0x061C || is_between(0x200E, 0x200F) ||
         is_between(0x2028, 0x202E) || is_between(0x2066, 0x2069) || value == 0xFEFF;
}

// Returns the longest beginning of `text` that is UTF-8.
std::string_view ValidFront(std::string_view text) {
  return {text.begin(), utf8::find_invalid(text.begin(), text.end())};
}

// Removes the first code point of `text`, which must be UTF-8 and not empty, and returns it.
std::uint32_t TakePoint(std::string_view& text) {
  const auto* next = text.begin();
  const std::uint32_t point = utf8::unchecked::next(next);
  text = {next, text.end()};
  return point;
}

bool IsAsciiText(char byte) { return byte >= ' ' && byte < '\x7F'; }

// Returns the size of the beginning that needs no escapes, which is the whole of most texts.
std::size_t SizeOfAsciiFront(std::string_view text) {
  return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), IsAsciiText) -
                                  text.begin());
}

// `format` formats a code point that is escaped.
std::string Escape(std::string_view text, std::string_view unescaped,
                   const absl::FormatSpec<std::uint32_t>& format) {
  const std::size_t ascii = SizeOfAsciiFront(text);
  std::string safe(text.substr(0, ascii));
  text.remove_prefix(ascii);
  while (!text.empty()) {
    std::string_view valid = ValidFront(text);
    text.remove_prefix(valid.size());
    while (!valid.empty()) {
      const std::string_view from = valid;
      const std::uint32_t point = TakePoint(valid);
      if (!IsHarmful(point) || unescaped.find(from.front()) != std::string_view::npos) {
        safe.append(from.substr(0, from.size() - valid.size()));
      } else {
        absl::StrAppendFormat(&safe, format, point);
      }
    }
    if (text.empty()) break;
    absl::StrAppendFormat(&safe, "\\x%02X", static_cast<unsigned char>(text.front()));
    text.remove_prefix(1);
  }
  return safe;
}

}  // namespace

std::string EscapedText(std::string_view text) { return Escape(text, "", "\\u{%X}"); }

std::string EscapedLines(std::string_view text) { return Escape(text, "\n\t", "\\u{%X}"); }

std::string EscapedJson(std::string_view json) { return Escape(json, "", "\\u%04x"); }

std::string Printable(std::string_view text, std::size_t max_size) {
  std::string shown = EscapedText(text);
  if (shown.size() <= max_size) return shown;
  shown.resize(CutUtf8(shown, max_size).size());
  return shown + "...";
}

bool IsPlainText(std::string_view text) {
  if (!IsUtf8(text)) return false;
  while (!text.empty()) {
    const char front = text.front();
    const bool is_space = front == '\n' || front == '\t' || front == '\r';
    if (IsHarmful(TakePoint(text)) && !is_space) return false;
  }
  return true;
}

}  // namespace retryq
