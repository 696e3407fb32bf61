#include "retry/delivery/message_history.h"

#include "base/header_names.h"
#include "retry/delivery/header_fields.h"

namespace retryq {

MessageHistory::MessageHistory(const amqp::Message& message) {
  const HeaderFields fields(message, {});
  const amqp::TableView headers = message.properties.headers.value_or(amqp::TableView());
  // Returns the header if retryq has set it.
  const auto own = [whose = fields.whose](const HeaderField& field) {
    return field && IsRetryHeader(field->name, whose) ? field : std::nullopt;
  };

  retry_id = NameIn(own(fields.id));
  id = retry_id ? retry_id : message.properties.message_id;
  if (!id) id = message.properties.correlation_id;  // the only id that Celery sets
  if (const auto count = NaturalIn(own(fields.count))) {
    attempt = static_cast<std::uint64_t>(*count);
  }
  first_failure = TimeIn(own(fields.first_failure));
  parked = TimeIn(own(headers.Find(kRetryParkedHeader)));
  edited = TimeIn(own(headers.Find(kRetryEditedHeader)));
  due = TimeIn(own(fields.not_before));
  error = TextIn(own(fields.error));
  queue = NameIn(own(fields.queue));
  exchange = NameIn(own(fields.exchange));
  routing_key = NameIn(own(fields.routing_key));
  if (message.redelivered) returns = NaturalIn(fields.delivery_count).value_or(0);
}

}  // namespace retryq
