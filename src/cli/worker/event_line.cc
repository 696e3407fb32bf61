#include "cli/worker/event_line.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "absl/time/time.h"
#include "cli/text/duration.h"
#include "cli/text/json_line.h"
#include "cli/worker/trace_id.h"

namespace retryq::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

// Returns milliseconds, with microsecond precision.
double Milliseconds(absl::Duration duration) {
  return static_cast<double>(absl::ToInt64Microseconds(duration)) / 1000;
}

absl::Duration WholeMilliseconds(absl::Duration duration) {
  return absl::Ceil(duration, absl::Milliseconds(1));
}

// Cuts a long text, but not within a UTF-8 character.
std::string Shortened(std::string_view text) {
  if (text.size() <= kLongestText) return std::string(text);
  std::size_t end = kLongestText;
  while (end > kLongestText - 4 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return std::string(text.substr(0, end)) + "…";
}

bool IsPlain(char c) { return c > ' ' && c < '\x7f' && c != '"' && c != '=' && c != '\\'; }

std::string_view TraceOf(const Event& event, const LineExtras& extras) {
  return event.delivery == nullptr ? extras.trace_id : TraceIdOf(*event.delivery);
}

std::string QuotedIfNeeded(std::string_view text) {
  if (!text.empty() && std::all_of(text.begin(), text.end(), IsPlain)) return std::string(text);
  return JsonLine(OrderedJson(text));
}

}  // namespace

std::string JsonLine(Severity severity, std::string_view name, const Event& event,
                     const LineExtras& extras) {
  OrderedJson json = {
      {"time", JsonTime(event.time)}, {"level", SeverityName(severity)}, {"event", name}};
  const auto add_text = [&json](const char* key, std::string_view text) {
    if (!text.empty()) json[key] = Shortened(text);
  };
  add_text("queue", event.queue);
  if (event.attempt) json["attempt"] = *event.attempt;
  if (event.delay) json["delay_ms"] = absl::ToInt64Milliseconds(*event.delay);
  add_text("delay_queue", event.delay_queue);
  add_text("id", event.id);
  add_text("trace_id", TraceOf(event, extras));
  add_text("error", event.error);
  add_text("cause", event.cause);
  if (event.lateness) json["late_ms"] = Milliseconds(*event.lateness);
  if (event.handling) json["took_ms"] = Milliseconds(*event.handling);
  if (event.confirmed_after) {
    json["confirm_ms"] = Milliseconds(*event.confirmed_after);
  }
  if (event.in_flight) json["in_flight"] = *event.in_flight;
  if (event.delay_queues) json["delay_queues"] = *event.delay_queues;
  if (extras.repeated > 0) json["repeated"] = extras.repeated;
  add_text("url", extras.url);
  return JsonLine(json);
}

std::string TextLine(Severity severity, std::string_view name, const Event& event,
                     const LineExtras& extras) {
  std::string line = JsonTime(event.time);
  line.append(" ").append(SeverityName(severity)).append(" ").append(name);
  const auto add = [&line](std::string_view key, std::string_view value) {
    line.append(" ").append(key).append("=").append(QuotedIfNeeded(value));
  };
  const auto add_text = [&add](std::string_view key, std::string_view text) {
    if (!text.empty()) add(key, Shortened(text));
  };
  add_text("queue", event.queue);
  if (event.attempt) add("attempt", std::to_string(*event.attempt));
  if (event.delay) add("delay", DurationText(*event.delay));
  add_text("delay_queue", event.delay_queue);
  add_text("id", event.id);
  add_text("error", event.error);
  if (event.lateness) add("late", DurationText(WholeMilliseconds(*event.lateness)));
  if (event.handling) add("took", DurationText(WholeMilliseconds(*event.handling)));
  if (extras.repeated > 0) add("repeated", std::to_string(extras.repeated));
  add_text("url", extras.url);
  return line;
}

}  // namespace retryq::cli
