#include "cli/doctor/remedy_text.h"

#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "loop/escaped_text.h"

namespace retryq::cli {

std::string Escaped(const std::string& text) {
  std::string pattern;
  for (const char c : text) {
    if (c == '\\' || c == '^') {
      absl::StrAppend(&pattern, "\\", std::string(1, c));
    } else if (std::string_view("$.|?*+()[]{}").find(c) != std::string_view::npos) {
      absl::StrAppend(&pattern, "[", std::string(1, c), "]");
    } else {
      pattern += c;
    }
  }
  return pattern;
}

std::string ForShell(const std::string& text) {
  if (EscapedText(text) != text) {
    std::string word = "$'";
    for (const char c : text) {
      if (absl::ascii_isprint(static_cast<unsigned char>(c)) && c != '\'' && c != '\\') {
        word += c;
      } else {
        absl::StrAppendFormat(&word, "\\x%02X", static_cast<unsigned char>(c));
      }
    }
    return word + "'";
  }
  return absl::StrCat(
      "'", absl::StrJoin(std::vector<std::string>(absl::StrSplit(text, '\'')), "'\\''"), "'");
}

std::string OperandForShell(const std::string& text) {
  return absl::StrCat(text.starts_with('-') ? "-- " : "", ForShell(text));
}

}  // namespace retryq::cli
