#include "cli/parked/replacement.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/messages/json_layout.h"
#include "cli/messages/message_text.h"
#include "cli/text/json_line.h"
#include "cli/text/typed_value.h"
#include "loop/escaped_text.h"
#include "retryq/amqp/table.h"
#include "retryq/delivery.h"

namespace retryq::cli {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kSeparator = "--- body ---\n";

// Sorted header fields that do not change between deliveries. The broker reorders the fields when
// it adds its count.
std::vector<std::string_view> KeptFields(const amqp::Message& message) {
  std::vector<std::string_view> fields;
  for (const amqp::FieldView& field : message.properties.headers.value_or(amqp::TableView())) {
    if (field.name != "x-delivery-count" && field.name != "x-acquired-count") {
      fields.push_back(field.bytes);
    }
  }
  std::sort(fields.begin(), fields.end());
  return fields;
}

absl::StatusOr<std::string> EditedHeaders(const amqp::Message& original, const Json& edited) {
  const Json before = ParseJson(VisibleHeaders(original));
  std::string bytes;
  amqp::TableWriter writer(&bytes);
  const Headers headers(original.properties.headers.value_or(amqp::TableView()));
  for (const amqp::FieldView& field : original.properties.headers.value_or(amqp::TableView())) {
    const std::string name(field.name);
    // A name with invalid UTF-8 is shown differently and cannot be edited.
    const bool stays =
        headers.IsHidden(field.name) || before == edited || !IsUtf8(name) ||
        (before.contains(name) && edited.contains(name) && before.at(name) == edited.at(name));
    if (stays) writer.Copy(field);
  }
  if (before == edited) return bytes;
  amqp::Table changed;
  for (const auto& [name, value] : edited.items()) {
    if (before.contains(name) && before.at(name) == value) continue;
    if (headers.IsHidden(name)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "header '", EscapedText(name), "': is set by retryq or the broker; take it out"));
    }
    absl::StatusOr<amqp::Value> typed = TypedValue(value);
    if (!typed.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("header '", EscapedText(name), "': ", typed.status().message()));
    }
    changed.Append(name, *std::move(typed));
  }
  const absl::StatusOr<std::string> encoded = changed.Encode();
  if (!encoded.ok()) return encoded.status();
  return bytes + *encoded;
}

}  // namespace

bool IsSame(const amqp::Message& a, const amqp::Message& b) {
  return a.body == b.body && KeptFields(a) == KeptFields(b);
}

amqp::MessagePtr Replaced(const amqp::Message& message, const Replacement& replacement) {
  auto replaced = std::make_shared<amqp::Message>();
  replaced->delivery_tag = message.delivery_tag;
  replaced->redelivered = message.redelivered;
  const std::string_view headers =
      replacement.headers ? std::string_view(*replacement.headers) : std::string_view();
  replaced->SetHead(message.exchange, message.routing_key, message.header, headers.size());
  replaced->content = replacement.body;
  replaced->body = replaced->content;
  // The other properties are views into this header.
  replaced->properties = message.properties;
  const auto moved = [&](std::optional<std::string_view>& text) {
    if (!text || text->empty()) return;
    const std::ptrdiff_t at = text->data() - message.header.data();
    text = std::string_view(replaced->header.data() + at, text->size());
  };
  amqp::Properties& p = replaced->properties;
  for (auto* text : {&p.content_type, &p.content_encoding, &p.correlation_id, &p.reply_to,
                     &p.expiration, &p.message_id, &p.type, &p.user_id, &p.app_id, &p.cluster_id}) {
    moved(*text);
  }
  if (replacement.headers) {
    replaced->storage.append(headers);
    const std::string_view storage = replaced->storage;
    p.headers = amqp::TableView(storage.substr(storage.size() - headers.size()));
  } else if (message.properties.headers) {
    std::optional<std::string_view> bytes = message.properties.headers->bytes();
    moved(bytes);
    p.headers = amqp::TableView(*bytes);
  }
  return replaced;
}

absl::StatusOr<std::string> EditText(const amqp::Message& message) {
  if (!IsUtf8(message.body)) {
    return absl::InvalidArgumentError(
        "the body is no text; remedy: save it by show --body raw, change the file, and replay "
        "--id ID --body FILE");
  }
  return absl::StrCat(LayOutJson(VisibleHeaders(message)), "\n", std::string(kSeparator),
                      std::string(message.body));
}

absl::StatusOr<Replacement> ReadEdited(amqp::MessagePtr original, std::string_view text) {
  const std::string line = absl::StrCat("\n", std::string(kSeparator));
  std::size_t at = text.find(line);
  std::size_t body_at = at + line.size();
  // An editor may have removed the line break of the last line.
  if (at == std::string_view::npos && text.ends_with(line.substr(0, line.size() - 1))) {
    at = text.size() - (line.size() - 1);
    body_at = text.size();
  }
  if (at == std::string_view::npos) {
    return absl::InvalidArgumentError(
        "the line '--- body ---' between the headers and the body is missing; leave it where it "
        "is");
  }
  const Json headers = ParseJson(text.substr(0, at));
  if (!headers.is_object()) {
    return absl::InvalidArgumentError(
        "the headers, above the line '--- body ---', are no JSON object");
  }
  absl::StatusOr<std::string> bytes = EditedHeaders(*original, headers);
  if (!bytes.ok()) return bytes.status();
  Replacement replacement{.body = std::string(text.substr(body_at)),
                          .headers = *std::move(bytes),
                          .original = std::move(original)};
  // Editors add a line break to the last line.
  const std::string_view before = replacement.original->body;
  if (!before.ends_with('\n') && replacement.body.ends_with('\n')) replacement.body.pop_back();
  return replacement;
}

}  // namespace retryq::cli
