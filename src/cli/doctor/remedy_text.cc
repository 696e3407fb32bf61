#include "cli/doctor/remedy_text.h"

#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

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
  return absl::StrCat(
      "'", absl::StrJoin(std::vector<std::string>(absl::StrSplit(text, '\'')), "'\\''"), "'");
}

}  // namespace retryq::cli
