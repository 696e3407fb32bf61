#include "cli/worker/lines_protocol.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/escaped_text.h"
#include "base/utf8.h"
#include "cli/text/json_line.h"

namespace retryq::cli {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostHeadersOfLine = std::size_t{1} << 20;

// Appends a JSON string; invalid UTF-8 is replaced.
void AppendText(std::string_view text, std::string* line) { line->append(JsonLine(Json(text))); }

void AppendField(std::string_view name, std::string_view text, std::string* line) {
  line->append(",\"").append(name).append("\":");
  AppendText(text, line);
}

template <typename Number>
void AppendNumber(std::string_view name, const std::optional<Number>& number, std::string* line) {
  line->append(",\"").append(name).append("\":").append(number ? std::to_string(*number) : "null");
}

absl::Status Wrong(const std::string& why) { return absl::InvalidArgumentError(why); }

}  // namespace

std::string LineFor(std::uint64_t id, const Delivery& delivery, std::uint64_t max_attempts) {
  const amqp::Properties& properties = delivery.properties();
  std::string line;
  line.reserve(delivery.body().size() + 512);
  absl::StrAppend(&line, "{\"id\":", id, ",\"attempt\":", delivery.attempt(),
                  ",\"max_attempts\":", max_attempts);
  AppendField("last_error", delivery.last_error(), &line);
  AppendField("retry_id", delivery.id(), &line);
  AppendField("queue", delivery.queue(), &line);
  AppendField("exchange", delivery.exchange(), &line);
  AppendField("routing_key", delivery.routing_key(), &line);
  AppendField("message_id", properties.message_id.value_or(""), &line);
  AppendField("correlation_id", properties.correlation_id.value_or(""), &line);
  AppendField("content_type", properties.content_type.value_or(""), &line);
  AppendField("content_encoding", properties.content_encoding.value_or(""), &line);
  AppendField("reply_to", properties.reply_to.value_or(""), &line);
  AppendField("type", properties.type.value_or(""), &line);
  AppendField("app_id", properties.app_id.value_or(""), &line);
  AppendField("expiration", properties.expiration.value_or(""), &line);
  AppendNumber("priority", properties.priority, &line);
  AppendNumber("timestamp", properties.timestamp, &line);
  line.append(",\"redelivered\":").append(delivery.redelivered() ? "true" : "false");
  const amqp::TableView headers = delivery.headers().all();
  AppendField("traceparent", headers.FindString("traceparent").value_or(""), &line);
  AppendField("tracestate", headers.FindString("tracestate").value_or(""), &line);
  line.append(",\"headers\":").append(HeadersJson(delivery.headers(), kMostHeadersOfLine));
  const std::string_view body = delivery.body();
  if (IsUtf8(body)) {
    AppendField("body", body, &line);
  } else {
    AppendField("body_base64", absl::Base64Escape(absl::string_view(body.data(), body.size())),
                &line);
  }
  return line.append("}\n");
}

std::string IgnoredFieldWarning(std::string_view field) {
  return absl::StrCat("COMMAND answered with the field '", EscapedText(field.substr(0, 100)),
                      "', which is ignored; known fields: id, ok, error, retry_after, park, "
                      "discard, snooze, reason");
}

absl::StatusOr<LinesAnswer> ParseAnswer(std::string_view line) {
  const Json json = ParseJson(line);
  if (!json.is_object()) {
    return Wrong(absl::StrCat("it is ",
                              json.is_discarded() ? WhyNotJson(line) : "not a JSON object",
                              "; write only answers to stdout, and other output to stderr"));
  }
  LinesAnswer answer;
  absl::Duration delay;  // of "retry_after" or "snooze"
  for (const auto& [name, value] : json.items()) {
    if (name == "id") {
      if (!value.is_number_unsigned()) return Wrong("\"id\" must be the number of a message");
      answer.id = value.get<std::uint64_t>();
    } else if (name == "ok") {
      if (value != true) {
        return Wrong("\"ok\" must be true; answer with \"error\" if the message failed");
      }
    } else if (name == "error" || name == "park" || name == "discard" || name == "reason") {
      if (!value.is_string()) return Wrong(absl::StrCat("\"", name, "\" must be a string"));
    } else if (name == "retry_after" || name == "snooze") {
      const std::optional<absl::Duration> duration = DurationIn(value);
      if (!duration) {
        return Wrong(absl::StrCat(
            "\"", name, "\" must be a duration, such as \"30s\", or a number of seconds"));
      }
      delay = *duration;
    } else {
      answer.ignored = name;
    }
  }
  const auto has = [&json](const char* name) { return json.contains(name); };
  const auto text = [&json](const char* name) { return json.value(name, std::string()); };
  if (!has("id")) return Wrong("it has no \"id\"; copy the \"id\" of the message");
  if (has("ok") + has("error") + has("park") + has("discard") + has("snooze") != 1) {
    return Wrong(
        "it must have exactly one of \"ok\", \"error\", \"park\", \"discard\" and \"snooze\"");
  }
  if (has("retry_after") && !has("error")) return Wrong("\"retry_after\" requires \"error\"");
  if (has("reason") && !has("snooze")) return Wrong("\"reason\" requires \"snooze\"");
  if (has("error")) {
    const absl::Status error = absl::UnknownError(text("error"));
    answer.outcome = has("retry_after") ? Outcome::RetryAfter(delay, error) : Outcome(error);
  } else if (has("park")) {
    answer.outcome = Outcome::Park(absl::UnknownError(text("park")));
  } else if (has("discard")) {
    answer.outcome = Outcome::Discard(text("discard"));
  } else if (has("snooze")) {
    answer.outcome = Outcome::Snooze(delay, text("reason"));
  }
  return answer;
}

}  // namespace retryq::cli
