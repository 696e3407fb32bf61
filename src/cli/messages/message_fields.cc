#include "cli/messages/message_fields.h"

#include <cstddef>
#include <string_view>

#include "cli/text/headers_json.h"
#include "retryq/amqp/table.h"

namespace retryq::cli {

std::vector<std::pair<std::string, std::string>> PropertiesOf(const amqp::Message& message) {
  std::vector<std::pair<std::string, std::string>> properties;
  const auto add = [&properties](const char* name, std::optional<std::string_view> text) {
    if (text) properties.emplace_back(name, *text);
  };
  const auto add_number = [&properties](const char* name, const auto& number) {
    if (number) properties.emplace_back(name, std::to_string(*number));
  };
  const amqp::Properties& p = message.properties;
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
  return properties;
}

std::optional<std::string> FieldNamed(const amqp::Message& message, const std::string& name) {
  constexpr std::size_t kLongest = std::size_t{64} << 10;  // bytes of JSON
  for (auto& [property, value] : PropertiesOf(message)) {
    if (property == name) return std::move(value);
  }
  if (!message.properties.headers) return std::nullopt;
  const std::optional<amqp::FieldView> header = message.properties.headers->Find(name);
  if (!header) return std::nullopt;
  if (const auto text = header->AsString()) return std::string(*text);
  return HeaderJson(*header, kLongest);
}

}  // namespace retryq::cli
