#include "retry/delivery/deaths.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <variant>

#include "absl/status/statusor.h"
#include "retry/delivery/headers.h"
#include "retryq/amqp/table.h"

namespace retryq {
namespace {

std::string TextOf(const amqp::Table& table, std::string_view name) {
  const amqp::Value* value = table.Find(name);
  const auto* text = value == nullptr ? nullptr : std::get_if<std::string>(&value->variant);
  return text == nullptr ? std::string() : *text;
}

std::int64_t CountOf(const amqp::Table& table) {
  const amqp::Value* value = table.Find("count");
  const auto* count = value == nullptr ? nullptr : std::get_if<std::int64_t>(&value->variant);
  return count == nullptr ? 0 : std::max<std::int64_t>(*count, 0);
}

}  // namespace

std::vector<Death> ReadDeaths(const amqp::Message& message) {
  if (!message.properties.headers) return {};
  const std::optional<amqp::FieldView> field = message.properties.headers->Find(kDeathHeader);
  if (!field) return {};
  const absl::StatusOr<amqp::Value> value = field->Decode();
  const auto* entries = value.ok() ? std::get_if<amqp::Array>(&value->variant) : nullptr;
  if (entries == nullptr) return {};
  std::vector<Death> deaths;
  for (const amqp::Value& entry : *entries) {
    const auto* table = std::get_if<std::shared_ptr<const amqp::Table>>(&entry.variant);
    if (table == nullptr) continue;
    deaths.push_back({.queue = TextOf(**table, "queue"),
                      .reason = TextOf(**table, "reason"),
                      .count = CountOf(**table)});
  }
  return deaths;
}

}  // namespace retryq
