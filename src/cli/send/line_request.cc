#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/iso_time.h"
#include "cli/send/send_command.h"
#include "cli/text/duration.h"
#include "cli/text/json_line.h"

namespace retryq::cli {
namespace {

using Json = nlohmann::json;

// The fields of a line, before those that belong together are combined.
struct LineFields {
  OutgoingMessage& message;
  PublishOptions& publish;
  std::optional<std::string> queue, exchange, routing_key, body, body_base64;
  std::optional<absl::Duration> delay;
};

// Parses a whole number of at most 2^53, which a JSON number represents exactly.
std::optional<std::int64_t> WholeNumber(std::string_view text) {
  constexpr std::int64_t kMost = std::int64_t{1} << 53;
  std::int64_t number = 0;
  if (text.find_first_not_of("0123456789") != std::string_view::npos ||
      !absl::SimpleAtoi(std::string(text), &number) || number > kMost) {
    return std::nullopt;
  }
  return number;
}

// Each function below reads the value of a field. It returns what is wrong with the value; empty if
// nothing is.

template <typename Text>
std::string ReadText(const Json& value, Text* text) {
  if (!value.is_string()) return "must be a text";
  *text = value.get_ref<const std::string&>();
  return "";
}

template <std::string OutgoingMessage::*kProperty>
std::string ReadProperty(const Json& value, LineFields& fields) {
  return ReadText(value, &(fields.message.*kProperty));
}

template <std::optional<std::string> LineFields::*kField>
std::string ReadField(const Json& value, LineFields& fields) {
  return ReadText(value, &(fields.*kField));
}

std::string ReadBase64(const Json& value, LineFields& fields) {
  const bool fits = value.is_string() && absl::Base64Unescape(value.get_ref<const std::string&>(),
                                                              &fields.body_base64.emplace());
  return fits ? "" : "must be base64";
}

std::string ReadHeaders(const Json& value, LineFields& fields) {
  if (!value.is_object()) return "must be an object";
  for (const auto& [name, header] : value.items()) {
    absl::StatusOr<amqp::Value> typed = TypedValue(header);
    if (!typed.ok()) {
      return absl::StrCat("header \"", name, "\": ", std::string(typed.status().message()));
    }
    fields.message.headers.Set(name, *std::move(typed));
  }
  return "";
}

std::string ReadDelay(const Json& value, LineFields& fields) {
  fields.delay = DurationIn(value);
  return fields.delay ? "" : "must be a duration, such as \"30s\", or a number of seconds";
}

std::string ReadAt(const Json& value, LineFields& fields) {
  if (value.is_string()) fields.publish.at = ParseIsoTime(value.get_ref<const std::string&>());
  return fields.publish.at ? "" : "must be a time, such as \"2027-01-31T08:00:00Z\"";
}

std::string ReadPriority(const Json& value, LineFields& fields) {
  if (!value.is_number_unsigned() || value > UINT8_MAX) {
    return "must be a whole number from 0 to 255";
  }
  fields.message.priority = value.get<std::uint8_t>();
  return "";
}

std::string ReadExpiration(const Json& value, LineFields& fields) {
  if (value == "") return "";  // no expiration, as in work --lines
  fields.message.expiration =
      value.is_string() ? ParseExpiration(value.get_ref<const std::string&>()) : std::nullopt;
  return fields.message.expiration ? "" : "must be a duration, such as \"30s\"";
}

std::string ReadTimestamp(const Json& value, LineFields& fields) {
  std::optional<absl::Time>& time = fields.message.timestamp;
  time = value.is_string()            ? ParseTimestamp(value.get_ref<const std::string&>())
         : value.is_number_unsigned() ? ParseTimestamp(value.dump())
                                      : std::nullopt;
  return time ? "" : "must be seconds since 1970, or a time such as \"2027-01-31T08:00:00Z\"";
}

std::string ReadTransient(const Json& value, LineFields& fields) {
  if (!value.is_boolean()) return "must be true or false";
  fields.message.transient = value.get<bool>();
  return "";
}

std::string CheckId(const Json& value, LineFields& /*fields*/) {
  // A whole number that does not fit into 64 bits would lose digits in the result.
  const bool is_too_large = value.is_number_float() && std::abs(value.get<double>()) >= 0x1p63;
  return value.is_structured() || is_too_large ? "must be a text or a number of 64 bits" : "";
}

struct LineField {
  std::string_view name;
  std::string (*read)(const Json& value, LineFields& fields);
};

constexpr LineField kLineFields[] = {
    {"id", CheckId},
    {"queue", ReadField<&LineFields::queue>},
    {"exchange", ReadField<&LineFields::exchange>},
    {"routing_key", ReadField<&LineFields::routing_key>},
    {"body", ReadField<&LineFields::body>},
    {"body_base64", ReadBase64},
    {"headers", ReadHeaders},
    {"delay", ReadDelay},
    {"at", ReadAt},
    {"priority", ReadPriority},
    {"correlation_id", ReadProperty<&OutgoingMessage::correlation_id>},
    {"reply_to", ReadProperty<&OutgoingMessage::reply_to>},
    {"type", ReadProperty<&OutgoingMessage::type>},
    {"app_id", ReadProperty<&OutgoingMessage::app_id>},
    {"user_id", ReadProperty<&OutgoingMessage::user_id>},
    {"message_id", ReadProperty<&OutgoingMessage::message_id>},
    {"content_type", ReadProperty<&OutgoingMessage::content_type>},
    {"content_encoding", ReadProperty<&OutgoingMessage::content_encoding>},
    {"expiration", ReadExpiration},
    {"timestamp", ReadTimestamp},
    {"transient", ReadTransient},
};

absl::Status ReadOne(const std::string& name, const Json& value, LineFields& fields) {
  const auto* const field =
      std::find_if(std::begin(kLineFields), std::end(kLineFields),
                   [&name](const LineField& each) { return each.name == name; });
  if (field == std::end(kLineFields)) {
    std::string names;
    for (const LineField& each : kLineFields) {
      absl::StrAppend(&names, names.empty() ? "" : ", ", std::string(each.name));
    }
    return absl::InvalidArgumentError(
        absl::StrCat("unknown field \"", name, "\"; the fields are: ", names));
  }
  const std::string problem = value.is_null() ? "" : field->read(value, fields);
  if (problem.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("\"", name, "\": ", problem));
}

absl::Status Combine(LineFields fields) {
  OutgoingMessage& message = fields.message;
  if (fields.queue && (fields.exchange || fields.routing_key)) {
    return absl::InvalidArgumentError(
        "\"queue\" cannot be combined with \"exchange\" and \"routing_key\"");
  }
  if (fields.body && fields.body_base64) {
    return absl::InvalidArgumentError("\"body\" cannot be combined with \"body_base64\"");
  }
  if (fields.delay && fields.publish.at) {
    return absl::InvalidArgumentError("\"delay\" cannot be combined with \"at\"");
  }
  if (fields.queue) {
    message.exchange.clear();
    message.routing_key = *std::move(fields.queue);
  }
  if (fields.exchange) message.exchange = *std::move(fields.exchange);
  if (fields.routing_key) message.routing_key = *std::move(fields.routing_key);
  if (message.exchange.empty() && message.routing_key.empty()) {
    return absl::InvalidArgumentError(
        "the line has no \"queue\", and no \"exchange\" with \"routing_key\"");
  }
  if (fields.body) message.body = *std::move(fields.body);
  if (fields.body_base64) message.body = *std::move(fields.body_base64);
  fields.publish.delay = fields.delay.value_or(absl::ZeroDuration());
  return absl::OkStatus();
}

}  // namespace

absl::Status ParseRequest(std::string_view line, LineRequest* request) {
  const Json json = ParseJson(line);
  if (!json.is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the line is ", json.is_discarded() ? WhyNotJson(line) : "not a JSON object"));
  }
  // Sets the id first, because the result of an invalid line contains it too.
  const auto id = json.find("id");
  if (id != json.end() && !id->is_structured()) request->id = JsonLine(*id);
  LineFields fields{.message = request->message, .publish = request->publish};
  for (const auto& [name, value] : json.items()) {
    if (absl::Status read = ReadOne(name, value, fields); !read.ok()) return read;
  }
  return Combine(std::move(fields));
}

std::string AnswerLine(std::string_view id, const absl::Status& status) {
  const std::string line = absl::StrCat("{\"id\":", std::string(id));
  if (status.ok()) return absl::StrCat(line, ",\"ok\":true}\n");
  const std::string error = JsonLine(Json(std::string(status.message())));
  return absl::StrCat(line, ",\"error\":", error, "}\n");
}

std::optional<absl::Time> ParseTimestamp(std::string_view text) {
  std::int64_t seconds = 0;
  if (text.find_first_not_of("0123456789") == std::string_view::npos &&
      absl::SimpleAtoi(std::string(text), &seconds)) {
    return absl::FromUnixSeconds(seconds);
  }
  return ParseIsoTime(text);
}

std::optional<absl::Duration> ParseExpiration(std::string_view text) {
  if (const auto duration = ParseDuration(text)) return duration;
  const auto milliseconds = WholeNumber(text);
  return milliseconds ? std::optional(absl::Milliseconds(*milliseconds)) : std::nullopt;
}

}  // namespace retryq::cli
