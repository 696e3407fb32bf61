#include "cli/text/json_line.h"

#include <nlohmann/json.hpp>

namespace retryq::cli {

nlohmann::json ParseJson(std::string_view text) {
  return nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
}

nlohmann::ordered_json ParseOrderedJson(std::string_view text) {
  return nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
}

std::string WhyNotJson(std::string_view text) {
  std::string why = "not JSON";
  try {
    [[maybe_unused]] const nlohmann::json json = nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
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

std::string JsonLine(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string JsonLine(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string JsonTime(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

}  // namespace retryq::cli
