
#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "base/escaped_text.h"
#include "base/utf8.h"
#include "cli/text/json_line.h"
#include "cli/worker/command_pool.h"

namespace retryq::cli {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostHeadersOfLine = std::size_t{1} << 20;

// Appends a JSON string; invalid UTF-8 is replaced.
void AppendText(std::string_view text, std::string* line) { line->append(JsonLine(Json(text))); }

// Appends each field.
struct FieldWriter {
  void operator()(std::string_view name, std::string_view, std::string_view text) const {
    Begin(name);
    AppendText(text, &line);
  }
  void operator()(std::string_view name, std::string_view,
                  const std::optional<std::uint64_t>& number) const {
    Begin(name).append(number ? std::to_string(*number) : "null");
  }
  void operator()(std::string_view name, std::string_view, bool value) const {
    Begin(name).append(value ? "true" : "false");
  }
  std::string& Begin(std::string_view name) const {
    return line.append(",\"").append(name).append("\":");
  }

  std::string& line;
};

absl::Status Wrong(const std::string& why) { return absl::InvalidArgumentError(why); }

}  // namespace

std::string LineFor(std::uint64_t id, const Delivery& delivery, std::uint64_t max_attempts,
                    std::optional<std::string> traceparent) {
  const std::string_view body = delivery.body();
  std::string line = absl::StrCat("{\"id\":", id);
  line.reserve(body.size() + 512);
  const FieldWriter fields{line};
  VisitFields({.delivery = delivery,
               .id = delivery.id(),
               .failures = delivery.attempt(),
               .last_error = delivery.last_error(),
               .max_attempts = max_attempts,
               .traceparent = std::move(traceparent)},
              fields);
  fields.Begin("headers").append(HeadersJson(delivery.headers(), kMostHeadersOfLine));
  if (IsUtf8(body)) {
    fields("body", "", body);
  } else {
    fields("body_base64", "", absl::Base64Escape(absl::string_view(body.data(), body.size())));
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
