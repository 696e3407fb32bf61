#include "cli/send/line_request.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/send/parse_time.h"
#include "cli/text/duration.h"
#include "cli/text/json_line.h"
#include "cli/text/typed_value.h"

namespace retryq::cli {
namespace {

using Json = nlohmann::json;

constexpr char kFields[] =
    "id, queue, exchange, routing_key, body, body_base64, headers, delay, at, priority, "
    "correlation_id, reply_to, type, app_id, user_id, message_id, content_type, content_encoding, "
    "expiration, timestamp, transient";

// Strings that become properties unchanged.
constexpr std::array<std::pair<std::string_view, std::string OutgoingMessage::*>, 8> kTextFields = {
    {{"correlation_id", &OutgoingMessage::correlation_id},
     {"reply_to", &OutgoingMessage::reply_to},
     {"type", &OutgoingMessage::type},
     {"app_id", &OutgoingMessage::app_id},
     {"user_id", &OutgoingMessage::user_id},
     {"message_id", &OutgoingMessage::message_id},
     {"content_type", &OutgoingMessage::content_type},
     {"content_encoding", &OutgoingMessage::content_encoding}}};

absl::Status WrongValue(std::string_view field, std::string_view what_it_takes) {
  return absl::InvalidArgumentError(
      absl::StrCat("\"", std::string(field), "\": write ", std::string(what_it_takes)));
}

absl::StatusOr<std::string> TextIn(std::string_view field, const Json& value) {
  if (!value.is_string()) return WrongValue(field, "a text");
  return value.get_ref<const std::string&>();
}

std::optional<absl::Duration> DelayOf(const Json& value) {
  constexpr double kLongest = 100.0 * 365 * 24 * 3600;
  if (value.is_string()) return ParseDuration(value.get_ref<const std::string&>());
  if (!value.is_number()) return std::nullopt;
  const double seconds = value.get<double>();
  if (!(seconds >= 0 && seconds <= kLongest)) return std::nullopt;
  return absl::Seconds(seconds);
}

std::optional<absl::Time> TimestampOf(const Json& value) {
  if (value.is_string()) return ParseTimestamp(value.get_ref<const std::string&>());
  return value.is_number_unsigned() ? ParseTimestamp(value.dump()) : std::nullopt;
}

// Reads the fields of one line, then combines those that belong together.
class RequestReader {
 public:
  explicit RequestReader(LineRequest* request)
      : message_(request->message), publish_(request->publish) {}

  absl::Status Read(const std::string& field, const Json& value) {
    if (value.is_null()) return absl::OkStatus();  // like a missing field
    for (const auto& [name, text] : kTextFields) {
      if (name == field) return Take(TextIn(field, value), &(message_.*text));
    }
    if (field == "body") return Take(TextIn(field, value), &body_);
    if (field == "body_base64") return Take(Unescaped(value), &body_base64_);
    if (field == "queue") return Take(TextIn(field, value), &queue_);
    if (field == "exchange") return Take(TextIn(field, value), &exchange_);
    if (field == "routing_key") return Take(TextIn(field, value), &routing_key_);
    if (field == "headers") return ReadHeaders(value);
    return ReadOther(field, value);
  }

  absl::Status Finish() {
    if (queue_ && (exchange_ || routing_key_)) {
      return absl::InvalidArgumentError(
          "\"queue\" excludes \"exchange\" and \"routing_key\"; give one or the other");
    }
    if (body_ && body_base64_) {
      return absl::InvalidArgumentError("\"body\" and \"body_base64\" exclude each other");
    }
    if (delay_ && publish_.at) {
      return absl::InvalidArgumentError("\"delay\" and \"at\" exclude each other");
    }
    if (queue_) {
      message_.exchange.clear();
      message_.routing_key = *std::move(queue_);
    }
    if (exchange_) message_.exchange = *std::move(exchange_);
    if (routing_key_) message_.routing_key = *std::move(routing_key_);
    if (message_.exchange.empty() && message_.routing_key.empty()) {
      return absl::InvalidArgumentError(
          "it names no \"queue\", and no \"exchange\" with \"routing_key\"");
    }
    if (body_) message_.body = *std::move(body_);
    if (body_base64_) message_.body = *std::move(body_base64_);
    publish_.delay = delay_.value_or(absl::ZeroDuration());
    return absl::OkStatus();
  }

 private:
  template <typename Text>
  static absl::Status Take(absl::StatusOr<std::string> text, Text* value) {
    if (!text.ok()) return text.status();
    *value = *std::move(text);
    return absl::OkStatus();
  }

  static absl::StatusOr<std::string> Unescaped(const Json& value) {
    std::string bytes;
    if (value.is_string() && absl::Base64Unescape(value.get_ref<const std::string&>(), &bytes)) {
      return bytes;
    }
    return WrongValue("body_base64", "base64");
  }

  absl::Status ReadHeaders(const Json& value) {
    if (!value.is_object()) return WrongValue("headers", "an object");
    for (const auto& [name, header] : value.items()) {
      absl::StatusOr<amqp::Value> typed = TypedValue(header);
      if (!typed.ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat("\"headers\": \"", name, "\" ", std::string(typed.status().message())));
      }
      message_.headers.Set(name, *std::move(typed));
    }
    return absl::OkStatus();
  }

  absl::Status ReadOther(const std::string& field, const Json& value) {
    if (field == "delay") {
      delay_ = DelayOf(value);
      return delay_ ? absl::OkStatus()
                    : WrongValue(field, "a duration, such as \"30s\", or a number of seconds");
    }
    if (field == "at") {
      if (value.is_string()) publish_.at = ParseTime(value.get_ref<const std::string&>());
      return publish_.at ? absl::OkStatus()
                         : WrongValue(field, "a time, such as \"2027-01-31T08:00:00Z\"");
    }
    if (field == "priority") {
      if (!value.is_number_unsigned() || value.get<std::uint64_t>() > UINT8_MAX) {
        return WrongValue(field, "a whole number from 0 to 255");
      }
      message_.priority = value.get<std::uint8_t>();
      return absl::OkStatus();
    }
    if (field == "expiration") {
      if (value == "") return absl::OkStatus();  // none, as in work --lines
      message_.expiration =
          value.is_string() ? ParseExpiration(value.get_ref<const std::string&>()) : std::nullopt;
      return message_.expiration ? absl::OkStatus()
                                 : WrongValue(field, "a duration, such as \"30s\"");
    }
    if (field == "timestamp") {
      message_.timestamp = TimestampOf(value);
      return message_.timestamp ? absl::OkStatus()
                                : WrongValue(field,
                                             "seconds since 1970, or a time such as "
                                             "\"2027-01-31T08:00:00Z\"");
    }
    if (field == "transient") {
      if (!value.is_boolean()) return WrongValue(field, "true or false");
      message_.transient = value.get<bool>();
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(
        absl::StrCat("there is no field \"", field, "\"; those there are: ", kFields));
  }

  OutgoingMessage& message_;
  PublishOptions& publish_;
  std::optional<std::string> queue_, exchange_, routing_key_, body_, body_base64_;
  std::optional<absl::Duration> delay_;
};

// Finds the text of a number that is the id of a line. As a value it may lose digits: a number that
// does not fit into 64 bits becomes a double.
class NumberOfId final : public nlohmann::json_sax<Json> {
 public:
  const std::string& text() const { return text_; }

  bool key(std::string& name) override {
    is_id_ = depth_ == 1 && name == "id";
    return true;
  }
  bool number_float(double /*value*/, const std::string& text) override {
    if (is_id_ && depth_ == 1) text_ = text;
    return true;
  }
  bool start_object(std::size_t /*size*/) override { return ++depth_ > 0; }
  bool end_object() override { return --depth_ >= 0; }
  bool start_array(std::size_t /*size*/) override { return ++depth_ > 0; }
  bool end_array() override { return --depth_ >= 0; }
  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(std::int64_t /*value*/) override { return true; }
  bool number_unsigned(std::uint64_t /*value*/) override { return true; }
  bool string(std::string& /*value*/) override { return true; }
  bool binary(binary_t& /*value*/) override { return true; }
  bool parse_error(std::size_t /*at*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*why*/) override {
    return false;
  }

 private:
  std::string text_;
  int depth_ = 0;
  bool is_id_ = false;
};

std::string IdText(const Json& id, std::string_view line) {
  if (!id.is_number_float()) return JsonLine(id);
  NumberOfId number;
  Json::sax_parse(line, &number);
  return number.text();
}

}  // namespace

absl::Status ParseRequest(std::string_view line, LineRequest* request) {
  const Json json = ParseJson(line);
  if (!json.is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the line is ", json.is_discarded() ? WhyNotJson(line) : "no JSON object"));
  }
  RequestReader reader(request);
  // Reads the id first, as an error reply contains it, too.
  if (const auto id = json.find("id"); id != json.end()) {
    if (id->is_structured()) return WrongValue("id", "a text or a number");
    request->id = IdText(*id, line);
  }
  for (const auto& [field, value] : json.items()) {
    if (field == "id") continue;
    if (absl::Status read = reader.Read(field, value); !read.ok()) return read;
  }
  return reader.Finish();
}

std::string AnswerLine(std::string_view id, const absl::Status& status) {
  std::string line = "{\"id\":";
  line.append(id);
  if (status.ok()) return line.append(",\"ok\":true}\n");
  return line.append(",\"error\":")
      .append(JsonLine(Json(std::string(status.message()))))
      .append("}\n");
}

}  // namespace retryq::cli
