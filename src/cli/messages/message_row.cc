#include "cli/messages/message_row.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_format.h"
#include "cli/messages/message_fields.h"
#include "cli/text/json_line.h"
#include "loop/escaped_text.h"

namespace retryq::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

}  // namespace

std::string ColumnHeads(const Columns& columns) {
  std::string text;
  for (const std::string& name : columns)
    absl::StrAppendFormat(&text, "%-20s  ", EscapedText(name));
  return text;
}

std::string ColumnValues(const amqp::Message& message, const Columns& columns) {
  std::string text;
  for (const std::string& name : columns) {
    absl::StrAppendFormat(&text, "%-20s  ", TextOrDash(FieldNamed(message, name)));
  }
  return text;
}

std::string TextOrDash(std::optional<std::string_view> text) {
  return text && !text->empty() ? EscapedText(*text) : "-";
}

std::string TimeOrDash(std::optional<absl::Time> time) {
  return time ? absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", *time, absl::UTCTimeZone()) : "-";
}

std::string OriginOf(const MessagePast& past) {
  std::string origin = TextOrDash(past.queue);
  if (!past.exchange || past.exchange->empty()) return origin;
  return origin.append(" (")
      .append(EscapedText(*past.exchange))
      .append(" ")
      .append(TextOrDash(past.routing_key).append(")"));
}

OrderedJson MessageJsonRow(const amqp::Message& message, const Columns& columns) {
  const MessagePast past(message);
  OrderedJson json = OrderedJson::object();
  const auto add_text = [&json](const char* key, std::optional<std::string_view> text) {
    if (text) json[key] = *text;
  };
  const auto add_time = [&json](const char* key, std::optional<absl::Time> time) {
    if (time) json[key] = JsonTime(*time);
  };
  add_text("id", past.id);
  add_time("parked", past.parked);
  add_time("edited", past.edited);
  add_time("first_failure", past.first_failure);
  if (past.attempts) json["attempts"] = *past.attempts;
  add_text("error", past.error);
  add_text("queue", past.queue);
  add_text("exchange", past.exchange);
  add_text("routing_key", past.routing_key);
  json["bytes"] = message.body.size();
  for (const std::string& name : columns) {
    if (auto value = FieldNamed(message, name)) json["columns"][name] = *std::move(value);
  }
  return json;
}

std::string CountsText(const std::map<std::string, std::uint64_t>& counts, const std::string& name,
                       bool json) {
  std::vector<std::pair<std::string, std::uint64_t>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  if (!json && !sorted.empty()) text = "   count  " + name + "\n";
  for (const auto& [value, count] : sorted) {
    if (json) {
      OrderedJson line = {{"count", count}};
      if (!value.empty()) line[name] = value;
      text.append(JsonLine(line)).push_back('\n');
    } else {
      absl::StrAppendFormat(&text, "%8d  %s\n", count, TextOrDash(value));
    }
  }
  return text;
}

}  // namespace retryq::cli
