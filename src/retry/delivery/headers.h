#ifndef RETRYQ_SRC_RETRY_DELIVERY_HEADERS_H_
#define RETRYQ_SRC_RETRY_DELIVERY_HEADERS_H_

#include <array>
#include <cstddef>
#include <string_view>

#include "retryq/amqp/table.h"

namespace retryq {

// Names of headers, see "The copy" in doc/on_the_wire.md. Numbers are int64, times are milliseconds
// since the Unix epoch, texts are long strings.
inline constexpr std::string_view kRetryPrefix = "x-retry-";
inline constexpr std::string_view kRetryCountHeader = "x-retry-count";
inline constexpr std::string_view kRetryFirstFailureHeader = "x-retry-first-failure";
inline constexpr std::string_view kRetryNotBeforeHeader = "x-retry-not-before";
inline constexpr std::string_view kRetryDelayHeader = "x-retry-delay";
inline constexpr std::string_view kRetryQueueHeader = "x-retry-queue";
inline constexpr std::string_view kRetryExchangeHeader = "x-retry-exchange";
inline constexpr std::string_view kRetryRoutingKeyHeader = "x-retry-routing-key";
inline constexpr std::string_view kRetryErrorHeader = "x-retry-error";
inline constexpr std::string_view kRetryIdHeader = "x-retry-id";
// Only on copies that need several delay queues: the rest of the delay when they leave the present
// queue, in milliseconds.
inline constexpr std::string_view kRetryRemainingHeader = "x-retry-remaining";

// Only if a message has failed in other queues too: a table with an int64 for each queue, how often
// it has failed there. At most kMostQueuesElsewhere queues; the entry "" has the largest count of
// those left out.
inline constexpr std::string_view kRetryElsewhereHeader = "x-retry-elsewhere";
inline constexpr std::size_t kMostQueuesElsewhere = 16;

// Only on copies in a parked queue: when they were parked.
inline constexpr std::string_view kRetryParkedHeader = "x-retry-parked";

// Set by `retryq parked edit`: when the message was edited.
inline constexpr std::string_view kRetryEditedHeader = "x-retry-edited";

// Limit in bytes for names, routing keys and message ids: they are short strings in AMQP 0-9-1.
inline constexpr std::size_t kLongestName = 255;

// The headers that retryq sets.
inline constexpr std::array kRetryHeaders = {
    kRetryCountHeader, kRetryFirstFailureHeader, kRetryNotBeforeHeader,  kRetryDelayHeader,
    kRetryQueueHeader, kRetryExchangeHeader,     kRetryRoutingKeyHeader, kRetryErrorHeader,
    kRetryIdHeader,    kRetryRemainingHeader,    kRetryParkedHeader,     kRetryElsewhereHeader,
};

// Who has set the `x-retry-…` headers of a message. An application may use these names itself.
// Headers are used, and hidden from handlers, only if all headers that retryq always sets together
// are present, with their types.
enum class RetryHeaders {
  kForeign,   // set by the application, or absent
  kReplayed,  // by parked replay or edit: an id made by retryq, or any with `x-retry-edited`
  kDelayed,   // published with a delay, on its way through several delay queues: id, delay,
              // not-before and remaining
  kCopied,    // a copy: count, queue, exchange, routing-key and id, perhaps others
};
RetryHeaders RetryHeadersIn(amqp::TableView headers);

// Whether retryq has set the header in a message whose headers are `whose`.
bool IsRetryHeader(std::string_view name, RetryHeaders whose);

// RabbitMQ adds this header when it dead-letters a message.
inline constexpr std::string_view kDeathHeader = "x-death";
// How often a quorum queue has delivered the message before.
inline constexpr std::string_view kDeliveryCountHeader = "x-delivery-count";
// How often a quorum queue of RabbitMQ 4.3 or newer has delivered it before, failed or not.
inline constexpr std::string_view kAcquiredCountHeader = "x-acquired-count";

// Whether the name is one of `kRetryHeaders`.
bool IsRetryHeader(std::string_view name);

// Whether the broker adds the header when it delivers or dead-letters a message.
bool IsBrokerHeader(std::string_view name);

// Whether the broker adds the header when it dead-letters a message.
bool IsDeathHeader(std::string_view name);

// Whether the broker would route a copy by the header: `CC` or `BCC`.
bool IsRoutingHeader(std::string_view name);

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_DELIVERY_HEADERS_H_
