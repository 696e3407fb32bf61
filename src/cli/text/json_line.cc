#include "cli/text/json_line.h"

#include <cstddef>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "base/escaped_text.h"
#include "base/iso_time.h"

namespace retryq::cli {
namespace {

// Writing, copying and destroying a value recurse per level. The depth is exact up to the first
// error in `text`; the parser stops there.
bool IsTooDeep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxJsonDepth) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

template <typename Json>
Json ParseBounded(std::string_view text) {
  if (IsTooDeep(text)) return Json(Json::value_t::discarded);
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

template <typename Json>
std::string Dumped(const Json& json) {
  return EscapedJson(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace

nlohmann::json ParseJson(std::string_view text) { return ParseBounded<nlohmann::json>(text); }

nlohmann::ordered_json ParseOrderedJson(std::string_view text) {
  return ParseBounded<nlohmann::ordered_json>(text);
}

std::string WhyNotJson(std::string_view text) {
  if (IsTooDeep(text))
    return absl::StrCat("JSON that nests deeper than ", kMaxJsonDepth, " levels");
  std::string why = "not JSON";
  try {
    [[maybe_unused]] const nlohmann::json json = nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {  // also for a number such as 1e999
    const std::string_view what = error.what();
    if (what.find("surrogate") != std::string_view::npos) {
      why.append(
          ": it has a lone surrogate, \\uD800 to \\uDFFF, which is no character; replace it by "
          "\\uFFFD");
    } else if (what.find("UTF-8") != std::string_view::npos) {
      why.append(": it is not UTF-8");
    }
  }
  return why;
}

std::string JsonLine(const nlohmann::json& json) { return Dumped(json); }
std::string JsonLine(const nlohmann::ordered_json& json) { return Dumped(json); }

std::string JsonTime(absl::Time time) { return IsoTime(time); }

}  // namespace retryq::cli
