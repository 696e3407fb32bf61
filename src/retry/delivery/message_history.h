#ifndef RETRYQ_SRC_RETRY_DELIVERY_MESSAGE_HISTORY_H_
#define RETRYQ_SRC_RETRY_DELIVERY_MESSAGE_HISTORY_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/time/time.h"
#include "retryq/amqp/message.h"

namespace retryq {

// The history in the headers of a parked or waiting message, for programs that show it, whichever
// queue it failed in. (`ReadFacts` is for consumers, and counts only what concerns their queue.)
// Values that `HeaderFields` does not accept, and headers that the application has set itself (see
// RetryHeaders), are absent. The views point into the message.
struct MessageHistory {
  explicit MessageHistory(const amqp::Message& message);

  std::optional<std::string_view> retry_id;  // x-retry-id
  std::optional<std::string_view> id;        // x-retry-id, message-id or correlation-id
  std::optional<std::uint64_t> attempt;      // failed calls of the handler
  std::optional<absl::Time> first_failure;
  std::optional<absl::Time> parked;          // absent if an older retryq has parked it
  std::optional<absl::Time> edited;          // last edit by an operator
  std::optional<absl::Time> due;             // end of its delay
  std::optional<std::string_view> error;     // the last error
  std::optional<std::string_view> queue;     // queue in which it failed
  std::optional<std::string_view> exchange;  // target of its first publish
  std::optional<std::string_view> routing_key;

  // Whether retryq parked the message.
  bool is_parked() const { return parked && queue; }

  // How often a quorum queue has requeued it; 0 if it is not counted. The count of a message that
  // was not delivered before was set by its publisher and is ignored.
  std::int64_t returns = 0;
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_DELIVERY_MESSAGE_HISTORY_H_
