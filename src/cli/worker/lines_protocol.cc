#include "cli/worker/lines_protocol.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/text/duration.h"
#include "cli/text/headers_json.h"
#include "cli/text/json_line.h"
#include "loop/escaped_text.h"

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

absl::StatusOr<absl::Duration> AnsweredDelay(const std::string& name, const Json& value) {
  constexpr double kLongest = 100.0 * 365 * 24 * 3600;
  if (value.is_number()) {
    const double seconds = value.get<double>();
    if (seconds >= 0 && seconds <= kLongest) return absl::Seconds(seconds);
  } else if (value.is_string()) {
    const std::optional<absl::Duration> duration =
        ParseDuration(value.get_ref<const std::string&>());
    if (duration) return *duration;
  }
  return Wrong(absl::StrCat("\"", name,
                            "\" is neither a duration, such as \"30s\", nor a number of seconds"));
}

// The fields of an answer except its id. The texts point into its JSON.
struct AnswerFields {
  // Returns null for any other name.
  const std::string** TextNamed(std::string_view name) {
    return name == "error"     ? &error
           : name == "park"    ? &park
           : name == "discard" ? &discard
           : name == "reason"  ? &reason
                               : nullptr;
  }
  std::optional<absl::Duration>* DelayNamed(std::string_view name) {
    return name == "retry_after" ? &retry_after : name == "snooze" ? &snooze : nullptr;
  }

  bool ok = false;
  const std::string* error = nullptr;
  const std::string* park = nullptr;
  const std::string* discard = nullptr;
  const std::string* reason = nullptr;
  std::optional<absl::Duration> retry_after;
  std::optional<absl::Duration> snooze;
};

absl::StatusOr<Outcome> OutcomeOf(const AnswerFields& fields) {
  const int outcomes = fields.ok + (fields.error != nullptr) + (fields.park != nullptr) +
                       (fields.discard != nullptr) + fields.snooze.has_value();
  if (outcomes != 1) {
    return Wrong(
        "it says none, or more than one, of \"ok\", \"error\", \"park\", \"discard\" and "
        "\"snooze\"");
  }
  if (fields.retry_after && fields.error == nullptr) {
    return Wrong("\"retry_after\" is for an \"error\"");
  }
  if (fields.reason != nullptr && !fields.snooze) return Wrong("\"reason\" is for a \"snooze\"");
  if (fields.error != nullptr) {
    const absl::Status status = absl::UnknownError(*fields.error);
    return fields.retry_after ? Outcome::RetryAfter(*fields.retry_after, status) : Outcome(status);
  }
  if (fields.park != nullptr) return Outcome::Park(absl::UnknownError(*fields.park));
  if (fields.discard != nullptr) return Outcome::Discard(*fields.discard);
  if (fields.snooze) {
    return Outcome::Snooze(*fields.snooze, fields.reason == nullptr ? "" : *fields.reason);
  }
  return Outcome::Ok();
}

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
  return absl::StrCat("COMMAND has answered with a field '", EscapedText(field.substr(0, 100)),
                      "', which is ignored; fields: id, ok, error, retry_after, park, discard, "
                      "snooze, reason");
}

absl::StatusOr<LinesAnswer> ParseAnswer(std::string_view line) {
  const Json json = ParseJson(line);
  if (!json.is_object()) {
    return Wrong(absl::StrCat("it is ", json.is_discarded() ? WhyNotJson(line) : "no JSON object",
                              "; stdout is for answers alone, print anything else to stderr"));
  }
  LinesAnswer answer;
  bool has_id = false;
  AnswerFields fields;
  for (const auto& [name, value] : json.items()) {
    if (name == "id") {
      if (!value.is_number_unsigned()) return Wrong("its \"id\" is not that of a message");
      answer.id = value.get<std::uint64_t>();
      has_id = true;
    } else if (name == "ok") {
      if (value != true) return Wrong("\"ok\" is not true; say \"error\" for what is not");
      fields.ok = true;
    } else if (const std::string** const text = fields.TextNamed(name)) {
      if (!value.is_string()) return Wrong(absl::StrCat("its \"", name, "\" is no text"));
      *text = &value.get_ref<const std::string&>();
    } else if (std::optional<absl::Duration>* const delay = fields.DelayNamed(name)) {
      const absl::StatusOr<absl::Duration> duration = AnsweredDelay(name, value);
      if (!duration.ok()) return duration.status();
      *delay = *duration;
    } else {
      answer.ignored = name;
    }
  }
  if (!has_id) return Wrong("it has no \"id\"; give that of the message that it answers");
  absl::StatusOr<Outcome> outcome = OutcomeOf(fields);
  if (!outcome.ok()) return outcome.status();
  answer.outcome = *std::move(outcome);
  return answer;
}

}  // namespace retryq::cli
