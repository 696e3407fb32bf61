#include "cli/event_line.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "absl/time/time.h"
#include "cli/duration.h"

namespace retryq::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string Timestamp(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool IsPlain(char c) { return c > ' ' && c < '\x7f' && c != '"' && c != '=' && c != '\\'; }

std::string QuotedIfNeeded(std::string_view text) {
  if (!text.empty() && std::all_of(text.begin(), text.end(), IsPlain)) return std::string(text);
  return Dump(text);
}

}  // namespace

std::string JsonLine(std::string_view name, const Event& event) {
  Json json = {{"time", Timestamp(event.time)}, {"event", name}};
  const auto add_text = [&json](const char* key, std::string_view text) {
    if (!text.empty()) json[key] = text;
  };
  add_text("queue", event.queue);
  if (event.attempt) json["attempt"] = *event.attempt;
  if (event.delay) json["delay_ms"] = absl::ToInt64Milliseconds(*event.delay);
  add_text("delay_queue", event.delay_queue);
  add_text("id", event.id);
  add_text("error", event.error);
  return Dump(json);
}

std::string TextLine(std::string_view name, const Event& event) {
  std::string line = Timestamp(event.time).append(" ").append(name);
  const auto add = [&line](std::string_view key, std::string_view value) {
    line.append(" ").append(key).append("=").append(QuotedIfNeeded(value));
  };
  const auto add_text = [&add](std::string_view key, std::string_view text) {
    if (!text.empty()) add(key, text);
  };
  add_text("queue", event.queue);
  if (event.attempt) add("attempt", std::to_string(*event.attempt));
  if (event.delay) add("delay", DurationText(*event.delay));
  add_text("delay_queue", event.delay_queue);
  add_text("id", event.id);
  add_text("error", event.error);
  return line;
}

}  // namespace retryq::cli
