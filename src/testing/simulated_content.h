#ifndef RETRYQ_SRC_TESTING_SIMULATED_CONTENT_H_
#define RETRYQ_SRC_TESTING_SIMULATED_CONTENT_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "retryq/amqp/message.h"
#include "retryq/amqp/properties.h"
#include "retryq/amqp/table.h"

namespace retryq::testing {

// The content of a message. Immutable, and shared by all its copies and deliveries.
class Content {
 public:
  // Copies everything that the views point to.
  Content(std::string_view exchange, std::string_view routing_key,
          const amqp::Properties& properties, std::string_view body);
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;

  const std::string& exchange() const { return exchange_; }
  const std::string& routing_key() const { return routing_key_; }
  const amqp::Properties& properties() const { return properties_; }
  std::string_view body() const { return body_; }

  // The message-id; empty if there is none.
  std::string_view id() const { return properties_.message_id.value_or(std::string_view()); }
  bool persistent() const { return properties_.delivery_mode == 2; }

 private:
  // Copies the text, and makes this a view of the copy.
  void Keep(std::optional<std::string_view>* field);

  std::string exchange_;
  std::string routing_key_;
  amqp::Properties properties_;  // views of text_
  std::string text_;
  std::string body_;
};

using ContentPtr = std::shared_ptr<const Content>;

// Returns the message as a consumer receives it.
amqp::MessagePtr MakeDelivery(const ContentPtr& content, amqp::DeliveryTag tag, bool redelivered);

// Returns a message that was dead-lettered from `queue` to `exchange`, with the headers that record
// that. The newest entry of x-death comes first. Each entry counts one queue and reason.
ContentPtr DeadLettered(const Content& content, std::string_view queue, std::string_view reason,
                        absl::Time time, std::string_view exchange, std::string_view routing_key);

// Whether an entry of x-death states that the message has expired in `queue`.
bool HasExpiredIn(const Content& content, std::string_view queue);

// Returns the message with a quorum queue's headers: how often it was delivered and returned.
// Counts of zero are left out.
ContentPtr WithDeliveryCounts(const Content& content, std::int64_t failed, std::int64_t acquired);

}  // namespace retryq::testing

#endif  // RETRYQ_SRC_TESTING_SIMULATED_CONTENT_H_
