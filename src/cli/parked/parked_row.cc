#include "cli/parked/parked_row.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "cli/parked/message_fields.h"
#include "cli/parked/parked_message.h"
#include "cli/text/escaped_text.h"

namespace retryq::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string Row(std::string_view parked, std::string_view first_failure, std::string_view attempts,
                std::string_view origin, std::string_view bytes, std::string_view id,
                const Columns& more, std::string_view error) {
  std::string row = absl::StrFormat("%-20s  %-20s  %8s  %-20s  %8s  %-32s  ", std::string(parked),
                                    std::string(first_failure), std::string(attempts),
                                    std::string(origin), std::string(bytes), std::string(id));
  for (const std::string& value : more) absl::StrAppendFormat(&row, "%-20s  ", value);
  return row.append(error);
}

std::string TimeOrDash(std::optional<absl::Time> time) {
  return time ? absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", *time, absl::UTCTimeZone()) : "-";
}

std::string TextOrDash(std::optional<std::string_view> text) {
  return text && !text->empty() ? EscapedText(*text) : "-";
}

// The queue alone where the message was published to it by name.
std::string Origin(const ParkedMessage& parked) {
  std::string origin = TextOrDash(parked.queue);
  if (!parked.exchange || parked.exchange->empty()) return origin;
  return origin.append(" (")
      .append(EscapedText(*parked.exchange))
      .append(" ")
      .append(TextOrDash(parked.routing_key).append(")"));
}

}  // namespace

std::string ParkedTableHead(const Columns& columns) {
  Columns heads;
  for (const std::string& name : columns) heads.push_back(EscapedText(name));
  return Row("parked", "first failed", "attempts", "origin", "bytes", "id", heads, "error");
}

std::string ParkedTableRow(const amqp::Message& message, const Columns& columns) {
  const ParkedMessage parked(message);
  Columns values;
  for (const std::string& name : columns) values.push_back(TextOrDash(FieldNamed(message, name)));
  return Row(TimeOrDash(parked.parked), TimeOrDash(parked.first_failure),
             parked.attempts ? std::to_string(*parked.attempts) : "-", Origin(parked),
             std::to_string(message.body.size()), TextOrDash(parked.id), values,
             TextOrDash(parked.error));
}

std::string ParkedJsonRow(const amqp::Message& message, const Columns& columns) {
  const ParkedMessage parked(message);
  OrderedJson json = OrderedJson::object();
  const auto add_text = [&json](const char* key, std::optional<std::string_view> text) {
    if (text) json[key] = *text;
  };
  add_text("id", parked.id);
  const auto add_time = [&json](const char* key, std::optional<absl::Time> time) {
    if (time) json[key] = absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", *time, absl::UTCTimeZone());
  };
  add_time("parked", parked.parked);
  add_time("first_failure", parked.first_failure);
  if (parked.attempts) json["attempts"] = *parked.attempts;
  add_text("error", parked.error);
  add_text("queue", parked.queue);
  add_text("exchange", parked.exchange);
  add_text("routing_key", parked.routing_key);
  json["bytes"] = message.body.size();
  for (const std::string& name : columns) {
    if (auto value = FieldNamed(message, name)) json["columns"][name] = *std::move(value);
  }
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace retryq::cli
