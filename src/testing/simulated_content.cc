#include "testing/simulated_content.h"

#include <cstdint>
#include <utility>
#include <variant>

#include "base/header_names.h"

namespace retryq::testing {
namespace {

using Entry = std::shared_ptr<const amqp::Table>;

// The properties that are texts.
constexpr std::optional<std::string_view> amqp::Properties::*kTexts[] = {
    &amqp::Properties::content_type,   &amqp::Properties::content_encoding,
    &amqp::Properties::correlation_id, &amqp::Properties::reply_to,
    &amqp::Properties::expiration,     &amqp::Properties::message_id,
    &amqp::Properties::type,           &amqp::Properties::user_id,
    &amqp::Properties::app_id,         &amqp::Properties::cluster_id};

// Returns the entries of x-death, the newest first; none if the header cannot be read.
amqp::Array Deaths(const amqp::Properties& properties) {
  if (!properties.headers) return {};
  const auto field = properties.headers->Find(kDeathHeader);
  if (!field) return {};
  const absl::StatusOr<amqp::Value> value = field->Decode();
  if (!value.ok()) return {};
  const auto* deaths = std::get_if<amqp::Array>(&value->variant);
  return deaths == nullptr ? amqp::Array() : *deaths;
}

bool Says(const amqp::Table& entry, std::string_view name, std::string_view text) {
  const amqp::Value* value = entry.Find(name);
  return value != nullptr && *value == amqp::Value(text);
}

const amqp::Table* AsEntry(const amqp::Value& value) {
  const auto* entry = std::get_if<Entry>(&value.variant);
  return entry == nullptr ? nullptr : entry->get();
}

// Returns all header fields except `name`.
std::string HeadersWithout(const amqp::Properties& properties, std::string_view name) {
  std::string bytes;
  if (!properties.headers) return bytes;
  amqp::TableWriter writer(&bytes);
  for (const amqp::FieldView& field : *properties.headers) {
    if (field.name != name) writer.Copy(field);
  }
  return bytes;
}

ContentPtr WithHeaders(const Content& content, std::string_view exchange,
                       std::string_view routing_key, amqp::Properties properties,
                       std::string_view headers) {
  properties.headers = amqp::TableView(headers);
  return std::make_shared<const Content>(exchange, routing_key, properties, content.body());
}

}  // namespace

Content::Content(std::string_view exchange, std::string_view routing_key,
                 const amqp::Properties& properties, std::string_view body)
    : exchange_(exchange), routing_key_(routing_key), properties_(properties), body_(body) {
  std::optional<std::string_view> headers;
  if (properties.headers) headers = properties.headers->bytes();
  std::size_t size = headers.value_or(std::string_view()).size();
  for (const auto text : kTexts) size += (properties.*text).value_or(std::string_view()).size();
  text_.reserve(size);  // so that the text does not move while views are made
  for (const auto text : kTexts) Keep(&(properties_.*text));
  Keep(&headers);
  if (headers) properties_.headers = amqp::TableView(*headers);
}

void Content::Keep(std::optional<std::string_view>* field) {
  if (!field->has_value()) return;
  const std::size_t start = text_.size();
  text_.append(**field);
  *field = std::string_view(text_).substr(start);
}

amqp::MessagePtr MakeDelivery(const ContentPtr& content, amqp::DeliveryTag tag, bool redelivered) {
  // Its views point into the content, which it therefore owns.
  struct Delivered : amqp::Message {
    ContentPtr shown;
  };
  auto message = std::make_shared<Delivered>();
  message->shown = content;
  message->delivery_tag = tag;
  message->redelivered = redelivered;
  message->exchange = content->exchange();
  message->routing_key = content->routing_key();
  message->properties = content->properties();
  message->body = content->body();
  return message;
}

ContentPtr DeadLettered(const Content& content, std::string_view queue, std::string_view reason,
                        absl::Time time, std::string_view exchange, std::string_view routing_key) {
  amqp::Properties properties = content.properties();
  amqp::Array deaths = Deaths(properties);
  std::int64_t count = 1;
  for (auto entry = deaths.begin(); entry != deaths.end(); ++entry) {
    const amqp::Table* table = AsEntry(*entry);
    if (table == nullptr || !Says(*table, "queue", queue) || !Says(*table, "reason", reason)) {
      continue;
    }
    if (const amqp::Value* counted = table->Find("count"); counted != nullptr) {
      if (const auto* number = std::get_if<std::int64_t>(&counted->variant)) count = *number + 1;
    }
    deaths.erase(entry);
    break;
  }
  amqp::Table newest = {
      {"count", count},
      {"reason", reason},
      {"queue", queue},
      {"time", amqp::Timestamp{static_cast<std::uint64_t>(absl::ToUnixSeconds(time))}},
      {"exchange", std::string_view(content.exchange())},
      {"routing-keys", amqp::Array{std::string_view(content.routing_key())}}};
  if (properties.expiration) newest.Set("original-expiration", *properties.expiration);
  deaths.insert(deaths.begin(), amqp::Value(std::move(newest)));

  std::string headers = HeadersWithout(properties, kDeathHeader);
  const bool is_first = !properties.headers || !properties.headers->Find("x-first-death-queue");
  amqp::Table added = {{std::string(kDeathHeader), std::move(deaths)}};
  if (is_first) {
    added.Set("x-first-death-queue", queue);
    added.Set("x-first-death-reason", reason);
    added.Set("x-first-death-exchange", std::string_view(content.exchange()));
  }
  headers += added.Encode().value_or(std::string());
  properties.expiration.reset();
  return WithHeaders(content, exchange, routing_key, properties, headers);
}

bool HasExpiredIn(const Content& content, std::string_view queue) {
  for (const amqp::Value& value : Deaths(content.properties())) {
    const amqp::Table* entry = AsEntry(value);
    if (entry != nullptr && Says(*entry, "queue", queue) && Says(*entry, "reason", "expired")) {
      return true;
    }
  }
  return false;
}

ContentPtr WithDeliveryCounts(const Content& content, std::int64_t failed, std::int64_t acquired) {
  std::string headers = HeadersWithout(content.properties(), kDeliveryCountHeader);
  amqp::TableWriter writer(&headers);
  if (failed > 0) writer.SetInt64(kDeliveryCountHeader, failed);
  if (acquired > 0) writer.SetInt64(kAcquiredCountHeader, acquired);
  return WithHeaders(content, content.exchange(), content.routing_key(), content.properties(),
                     headers);
}

}  // namespace retryq::testing
