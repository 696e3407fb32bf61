#include "retryq/delivery.h"

#include <utility>

#include "base/header_names.h"
#include "retry/delivery/headers.h"

namespace retryq {

bool Headers::IsHidden(std::string_view name) const {
  return name.starts_with(kRetryPrefix) ? IsRetryHeader(name, RetryHeadersIn(all_))
                                        : IsBrokerHeader(name);
}

std::optional<amqp::FieldView> Headers::Find(std::string_view name) const {
  return IsHidden(name) ? std::nullopt : all_.Find(name);
}

std::optional<std::string_view> Headers::FindString(std::string_view name) const {
  return IsHidden(name) ? std::nullopt : all_.FindString(name);
}

std::optional<std::int64_t> Headers::FindInt64(std::string_view name) const {
  return IsHidden(name) ? std::nullopt : all_.FindInt64(name);
}

absl::StatusOr<amqp::Table> Headers::Decode() const {
  std::string shown;
  amqp::TableWriter writer(&shown);
  for (const amqp::FieldView& field : all_) {
    if (!IsHidden(field.name)) writer.Copy(field);
  }
  return amqp::TableView(shown).Decode();
}

Delivery::Delivery(amqp::MessagePtr message, std::shared_ptr<const Source> source,
                   const History& history)
    : message_(std::move(message)), source_(std::move(source)), history_(history) {}

Delivery::Delivery(amqp::MessagePtr message, const std::shared_ptr<const std::string>& queue,
                   const History& history)
    : Delivery(std::move(message), std::make_shared<const Source>(*queue), history) {}

Headers Delivery::headers() const {
  return Headers(message_->properties.headers.value_or(amqp::TableView()));
}

std::string_view Delivery::id() const {
  if (!history_.id.empty()) return history_.id;
  return message_->properties.message_id.value_or(std::string_view());
}

}  // namespace retryq
