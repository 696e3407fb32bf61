#include "cli/parked/parked_row.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "cli/parked/parked_message.h"
#include "cli/text/escaped_text.h"

namespace retryq::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string Row(std::string_view parked, std::string_view first_failure, std::string_view attempts,
                std::string_view origin, std::string_view bytes, std::string_view id,
                std::string_view error) {
  return absl::StrFormat("%-20s  %-20s  %8s  %-20s  %8s  %-32s  %s", std::string(parked),
                         std::string(first_failure), std::string(attempts), std::string(origin),
                         std::string(bytes), std::string(id), std::string(error));
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

std::string ParkedTableHead() {
  return Row("parked", "first failed", "attempts", "origin", "bytes", "id", "error");
}

std::string ParkedTableRow(const amqp::Message& message) {
  const ParkedMessage parked(message);
  return Row(TimeOrDash(parked.parked), TimeOrDash(parked.first_failure),
             parked.attempts ? std::to_string(*parked.attempts) : "-", Origin(parked),
             std::to_string(message.body.size()), TextOrDash(parked.id), TextOrDash(parked.error));
}

std::string ParkedJsonRow(const amqp::Message& message) {
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
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace retryq::cli
