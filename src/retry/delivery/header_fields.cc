#include "retry/delivery/header_fields.h"

#include "base/header_names.h"

namespace retryq {
namespace {

// Follows a path into nested tables, with keys separated by dots: RetryOptions::earlier_counts.
// `Consider` is called for all fields of a table, and keeps the field to follow: the one with the
// longest name that is a prefix of the path; of several with that name, the first. If the name is
// the whole path, the field is the result; otherwise it must be a table.
class PathStep {
 public:
  void Consider(const amqp::FieldView& field, std::string_view path) {
    if (field_ && field.name.size() <= field_->name.size()) return;
    if (!path.starts_with(field.name)) return;
    const std::string_view rest = path.substr(field.name.size());
    if (rest.empty() || (rest.front() == '.' && field.type == 'F')) field_ = field;
  }

  // Returns the field at the end of the path.
  HeaderField Follow(std::string_view path) const {
    PathStep step = *this;
    for (int level = 1; step.field_ && step.field_->name.size() < path.size(); ++level) {
      if (level == amqp::kMaxTableDepth) return std::nullopt;
      path.remove_prefix(step.field_->name.size() + 1);
      const std::optional<amqp::TableView> table = step.field_->AsTable();
      step = {};
      if (!table) return std::nullopt;
      for (const amqp::FieldView& field : *table) step.Consider(field, path);
    }
    return step.field_;
  }

 private:
  HeaderField field_;
};

}  // namespace

HeaderFields::HeaderFields(const amqp::Message& message,
                           const std::vector<std::string>& names_of_counts) {
  if (!message.properties.headers) return;
  std::vector<PathStep> steps(names_of_counts.size());
  for (const amqp::FieldView& field : *message.properties.headers) {
    HeaderField* const known = field.name.starts_with(kRetryPrefix) ? OfRetrying(field.name)
                               : field.name.starts_with("x-")       ? OfBroker(field.name)
                                                                    : nullptr;
    if (known != nullptr && !*known) *known = field;
    for (std::size_t i = 0; i < steps.size(); ++i) steps[i].Consider(field, names_of_counts[i]);
  }
  if (id) whose = RetryHeadersIn(*message.properties.headers);
  if (whose != RetryHeaders::kCopied) elsewhere.reset();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    earlier_counts.push_back(steps[i].Follow(names_of_counts[i]));
  }
}

HeaderField* HeaderFields::OfBroker(std::string_view name) {
  if (name == kDeliveryCountHeader) return &delivery_count;
  if (name == kAcquiredCountHeader) return &acquired_count;
  if (name == kDeathHeader) return &death;
  return nullptr;
}

HeaderField* HeaderFields::OfRetrying(std::string_view name) {
  if (name == kRetryCountHeader) return &count;
  if (name == kRetryFirstFailureHeader) return &first_failure;
  if (name == kRetryNotBeforeHeader) return &not_before;
  if (name == kRetryDelayHeader) return &delay;
  if (name == kRetryQueueHeader) return &queue;
  if (name == kRetryExchangeHeader) return &exchange;
  if (name == kRetryRoutingKeyHeader) return &routing_key;
  if (name == kRetryErrorHeader) return &error;
  if (name == kRetryIdHeader) return &id;
  if (name == kRetryRemainingHeader) return &remaining;
  if (name == kRetryElsewhereHeader) return &elsewhere;
  return nullptr;
}

}  // namespace retryq
