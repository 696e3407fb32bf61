#include "base/quoting.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "base/escaped_text.h"

namespace retryq {

std::string InQuotes(std::string_view text) { return absl::StrCat("'", Printable(text), "'"); }

std::string ShellQuoted(std::string_view text) {
  if (EscapedText(text) == text) {
    return absl::StrCat("'", absl::StrReplaceAll(std::string(text), {{"'", "'\\''"}}), "'");
  }
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

std::string RegexEscaped(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    if (c == '\\' || c == '^') {
      pattern.append({'\\', c});
    } else if (std::string_view("$.|?*+()[]{}").find(c) != std::string_view::npos) {
      pattern.append({'[', c, ']'});
    } else {
      pattern += c;
    }
  }
  return pattern;
}

std::string PercentEncoded(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    const bool is_unreserved = absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
                               std::string_view("-._~").find(c) != std::string_view::npos;
    if (is_unreserved) {
      encoded += c;
    } else {
      absl::StrAppendFormat(&encoded, "%%%02X", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

std::string UrlPath(std::initializer_list<std::string_view> segments) {
  std::string path;
  for (const std::string_view segment : segments) {
    path.append("/").append(PercentEncoded(segment));
  }
  return path;
}

}  // namespace retryq
