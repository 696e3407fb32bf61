#ifndef RETRYQ_SRC_RETRY_DELIVERY_EARLIER_FAILURES_H_
#define RETRYQ_SRC_RETRY_DELIVERY_EARLIER_FAILURES_H_

#include <cstdint>
#include <string_view>

#include "retryq/amqp/message.h"
#include "retryq/retry_options.h"

namespace retryq {

// How often `message`, consumed from `queue`, has failed in another retry system, as the headers
// say that `options.earlier_counts` names: the largest of them. 0 where none says anything, and
// where the message has been copied by retryq before. What counts as redeliveries anyway is left
// out.
std::uint64_t ReadEarlierFailures(const amqp::Message& message, std::string_view queue,
                                  const RetryOptions& options);

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_DELIVERY_EARLIER_FAILURES_H_
