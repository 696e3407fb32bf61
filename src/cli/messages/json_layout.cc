#include "cli/messages/json_layout.h"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>

namespace retryq::cli {
namespace {

constexpr std::size_t kIndent = 2;
constexpr std::size_t kDeepest = 32;  // deeper levels are not indented further

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// The index after the string that begins at `begin`.
std::size_t EndOfString(std::string_view json, std::size_t begin) {
  std::size_t end = begin + 1;
  while (end < json.size() && json[end] != '"') end += json[end] == '\\' ? 2U : 1U;
  return std::min(end + 1, json.size());
}

}  // namespace

bool IsJson(std::string_view text) { return nlohmann::json::accept(text); }

std::string LayOutJson(std::string_view json) {
  std::string lines;
  std::size_t depth = 0;
  const auto new_line = [&] {
    lines.append("\n").append(kIndent * std::min(depth, kDeepest), ' ');
  };
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (IsSpace(c)) continue;
    if (c == '"') {
      const std::size_t end = EndOfString(json, i);
      lines.append(json.substr(i, end - i));
      i = end - 1;
    } else if (c == '{' || c == '[') {
      lines.push_back(c);
      const std::size_t next = json.find_first_not_of(" \t\n\r", i + 1);
      if (next != std::string_view::npos && json[next] == (c == '{' ? '}' : ']')) {
        lines.push_back(json[next]);
        i = next;
      } else {
        ++depth;
        new_line();
      }
    } else if (c == '}' || c == ']') {
      depth -= depth > 0 ? 1 : 0;
      new_line();
      lines.push_back(c);
    } else if (c == ',') {
      lines.push_back(c);
      new_line();
    } else if (c == ':') {
      lines.append(": ");
    } else {
      lines.push_back(c);
    }
  }
  return lines;
}

}  // namespace retryq::cli
