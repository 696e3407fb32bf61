#ifndef RETRYQ_SRC_RETRY_DELIVERY_HEADERS_H_
#define RETRYQ_SRC_RETRY_DELIVERY_HEADERS_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "base/header_names.h"
#include "retryq/amqp/properties.h"
#include "retryq/amqp/table.h"
#include "retryq/broker/copy_properties.h"

namespace retryq {

// The number of queues that `x-retry-elsewhere` counts separately; the entry "" has the largest
// count of the other queues.
inline constexpr std::size_t kMostQueuesElsewhere = 16;

// Who has set the `x-retry-…` headers of a message. An application may use these names itself.
// Headers are used, and hidden from handlers, only if all headers that retryq always sets together
// are present, with their types.
enum class RetryHeaders {
  kForeign,   // set by the application, or absent
  kReplayed,  // by parked replay or edit: an id that retryq made, or any id with `x-retry-edited`
  kDelayed,   // published with a delay, on its way through several delay queues: id, delay,
              // not-before and remaining
  kCopied,    // a copy: count, queue, exchange, routing-key and id, perhaps others
};
RetryHeaders RetryHeadersIn(amqp::TableView headers);

// Whether retryq has set the header in a message whose headers are `whose`.
bool IsRetryHeader(std::string_view name, RetryHeaders whose);

// CopyProperties, whose result replaces `*copied`.
void AssignCopyProperties(const amqp::Properties& properties, CopyPath path, std::string* headers,
                          amqp::Properties* copied);

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_DELIVERY_HEADERS_H_
