#include "cli/messages/message_filter.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "absl/strings/ascii.h"
#include "cli/messages/message_past.h"
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

bool MessageFilter::Matches(const amqp::Message& message, absl::Time now) const {
  const MessagePast past(message);
  const auto& own_id = message.properties.message_id ? message.properties.message_id
                                                     : message.properties.correlation_id;
  if (!ids.empty() && !Has(ids, past.id) && !Has(ids, own_id)) return false;
  if (error && !(past.error && ContainsIgnoringCase(*past.error, *error))) return false;
  if (older_than || newer_than) {
    const std::optional<absl::Time> since = past.parked ? past.parked : past.first_failure;
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
