#include "cli/messages/message_facts.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "cli/text/json_line.h"
#include "retryq/amqp/table.h"

namespace retryq::cli {
namespace {

bool ContainsIgnoringCase(std::string_view text, std::string_view part) {
  const auto equal = [](char a, char b) {
    return absl::ascii_tolower(static_cast<unsigned char>(a)) ==
           absl::ascii_tolower(static_cast<unsigned char>(b));
  };
  return std::search(text.begin(), text.end(), part.begin(), part.end(), equal) != text.end();
}

bool Has(const std::vector<std::string>& ids, std::optional<std::string_view> id) {
  return id && std::find(ids.begin(), ids.end(), *id) != ids.end();
}

bool Equals(const amqp::FieldView& field, std::string_view value) {
  if (const auto text = field.AsString()) return *text == value;
  if (const auto number = field.AsInt64()) return std::to_string(*number) == value;
  constexpr char kBool = 't';
  if (field.type == kBool && field.value.size() == 1) {
    return value == (field.value.front() == '\0' ? "false" : "true");
  }
  return false;
}

bool HasHeader(const amqp::Message& message, const std::string& name, std::string_view value) {
  if (!message.properties.headers) return false;
  const std::optional<amqp::FieldView> field = message.properties.headers->Find(name);
  return field && Equals(*field, value);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> PropertiesOf(const amqp::Properties& properties) {
  std::vector<std::pair<std::string, std::string>> found;
  const auto add = [&found](const char* name, std::optional<std::string_view> text) {
    if (text) found.emplace_back(name, *text);
  };
  const auto add_number = [&found](const char* name, const auto& number) {
    if (number) found.emplace_back(name, std::to_string(*number));
  };
  const amqp::Properties& p = properties;
  add("content-type", p.content_type);
  add("content-encoding", p.content_encoding);
  add_number("delivery-mode", p.delivery_mode);
  add_number("priority", p.priority);
  add("correlation-id", p.correlation_id);
  add("reply-to", p.reply_to);
  add("expiration", p.expiration);
  add("message-id", p.message_id);
  add_number("timestamp", p.timestamp);
  add("type", p.type);
  add("user-id", p.user_id);
  add("app-id", p.app_id);
  add("cluster-id", p.cluster_id);
  return found;
}

std::optional<std::string> FieldNamed(const amqp::Message& message, const std::string& name) {
  constexpr std::size_t kLongest = std::size_t{64} << 10;  // bytes of JSON
  for (auto& [property, value] : PropertiesOf(message.properties)) {
    if (property == name) return std::move(value);
  }
  if (!message.properties.headers) return std::nullopt;
  const std::optional<amqp::FieldView> header = message.properties.headers->Find(name);
  if (!header) return std::nullopt;
  if (const auto text = header->AsString()) return std::string(*text);
  return HeaderJson(*header, kLongest);
}

bool MessageFilter::Matches(const amqp::Message& message, absl::Time now) const {
  const MessageHistory facts(message);
  const auto& own_id = message.properties.message_id ? message.properties.message_id
                                                     : message.properties.correlation_id;
  if (!ids.empty() && !Has(ids, facts.id) && !Has(ids, own_id)) return false;
  if (error && !(facts.error && ContainsIgnoringCase(*facts.error, *error))) return false;
  if (older_than || newer_than) {
    const std::optional<absl::Time> since = facts.parked ? facts.parked : facts.first_failure;
    if (!since) return false;
    const absl::Duration age = now - *since;
    if (older_than && age <= *older_than) return false;
    if (newer_than && age >= *newer_than) return false;
  }
  return std::all_of(headers.begin(), headers.end(), [&message](const auto& header) {
    return HasHeader(message, header.first, header.second);
  });
}

}  // namespace retryq::cli
