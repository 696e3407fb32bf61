#include "cli/messages/message_text.h"

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "cli/messages/json_layout.h"
#include "cli/messages/message_fields.h"
#include "cli/messages/message_past.h"
#include "cli/text/headers_json.h"
#include "cli/text/json_line.h"
#include "loop/escaped_text.h"
#include "retryq/delivery.h"

namespace retryq::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t kMostHeaders = std::size_t{1} << 20;  // bytes of JSON

// The x-death header, which the broker sets when it dead-letters a message, as JSON; empty without
// one. In a copy that retryq has parked, the entries of its retries are missing.
std::string DeathsOf(const amqp::Message& message) {
  if (!message.properties.headers) return "";
  const std::optional<amqp::FieldView> deaths = message.properties.headers->Find("x-death");
  return deaths ? HeaderJson(*deaths, kMostHeaders) : "";
}

std::string Line(std::string_view name, std::string_view value) {
  return absl::StrFormat("%-16s  %s\n", std::string(name), EscapedText(value));
}

std::string PastOf(const amqp::Message& message) {
  const MessagePast past(message);
  std::string text = Line("id", past.id.value_or("-"));
  const auto add_time = [&text](std::string_view name, std::optional<absl::Time> time) {
    if (!time) return;
    text += Line(name, JsonTime(*time));
  };
  add_time("parked", past.parked);
  add_time("edited", past.edited);
  add_time("first failed", past.first_failure);
  if (past.attempts) text += Line("attempts", std::to_string(*past.attempts));
  if (past.error) text += Line("error", *past.error);
  if (past.queue) text += Line("failed in", absl::StrCat("queue ", std::string(*past.queue)));
  if (past.exchange && past.routing_key) {
    const std::string exchange =
        past.exchange->empty() ? "the default exchange" : "exchange " + std::string(*past.exchange);
    text += Line("published to",
                 absl::StrCat(exchange, ", routing key ", std::string(*past.routing_key)));
  }
  return text;
}

struct Shown {
  std::string kind;
  std::string text;
};

absl::StatusOr<Shown> ShowBody(std::string_view body, BodyFormat format) {
  const bool is_json = format != BodyFormat::kHex && format != BodyFormat::kText && IsJson(body);
  if (format == BodyFormat::kJson && !is_json) {
    return absl::InvalidArgumentError(
        "--body json: the body is no JSON; say text, hex or raw, or leave it out");
  }
  if (is_json) return Shown{"JSON", EscapedLines(LayOutJson(body))};
  const bool is_text =
      format == BodyFormat::kText || (format == BodyFormat::kAuto && IsPlainText(body));
  if (is_text) return Shown{"text", EscapedLines(body)};
  return Shown{"hex", HexDump(body)};
}

}  // namespace

std::string VisibleHeaders(const amqp::Message& message) {
  return HeadersJson(Headers(message.properties.headers.value_or(amqp::TableView())), kMostHeaders);
}

absl::StatusOr<std::string> MessageText(const amqp::Message& message, BodyFormat body,
                                        const MoreLines& more) {
  if (body == BodyFormat::kRaw) return std::string(message.body);
  const absl::StatusOr<Shown> shown = ShowBody(message.body, body);
  if (!shown.ok()) return shown.status();
  std::string text = PastOf(message);
  for (const auto& [name, value] : more) text += Line(name, value);
  for (const auto& [name, value] : PropertiesOf(message)) text += Line(name, value);
  const std::string headers = VisibleHeaders(message);
  if (headers != "{}") text += Line("headers", headers);
  const std::string deaths = DeathsOf(message);
  if (!deaths.empty()) text += Line("x-death", deaths);
  const bool is_empty = message.body.empty();
  text +=
      Line("body", is_empty ? "empty" : absl::StrCat(message.body.size(), " bytes, ", shown->kind));
  if (is_empty) return text;
  text.append("\n").append(shown->text);
  if (text.back() != '\n') text.push_back('\n');
  return text;
}

std::string MessageJson(const amqp::Message& message, OrderedJson row) {
  OrderedJson json = std::move(row);
  json["properties"] = OrderedJson::object();
  for (const auto& [name, value] : PropertiesOf(message)) json["properties"][name] = value;
  json["headers"] = ParseOrderedJson(VisibleHeaders(message));
  const std::string deaths = DeathsOf(message);
  if (!deaths.empty()) json["x_death"] = ParseOrderedJson(deaths);
  if (IsUtf8(message.body)) {
    json["body"] = message.body;
  } else {
    json["body_base64"] =
        absl::Base64Escape(absl::string_view(message.body.data(), message.body.size()));
  }
  return JsonLine(json) + "\n";
}

std::string HexDump(std::string_view bytes) {
  constexpr std::size_t kPerLine = 16;
  std::string text;
  for (std::size_t offset = 0; offset < bytes.size(); offset += kPerLine) {
    const std::string_view line = bytes.substr(offset, kPerLine);
    std::string hex;
    std::string ascii;
    for (const char c : line) {
      absl::StrAppendFormat(&hex, " %02x", static_cast<unsigned char>(c));
      ascii.push_back(c >= ' ' && c <= '~' ? c : '.');
    }
    absl::StrAppendFormat(&text, "%08x %-48s  %s\n", offset, hex, ascii);
  }
  return text;
}

}  // namespace retryq::cli
