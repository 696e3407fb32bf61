#ifndef RETRYQ_SRC_RETRY_DELIVERY_HEADERS_H_
#define RETRYQ_SRC_RETRY_DELIVERY_HEADERS_H_

#include <array>
#include <cstddef>
#include <string_view>

#include "retryq/amqp/table.h"

namespace retryq {

// The header names of the wire contract: "The copy" in doc/on_the_wire.md. Numbers are int64,
// times milliseconds since the Unix epoch, texts long strings.
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
// Only on copies that wait in several delay queues: what will be left of the delay when they leave
// the one they are in, in milliseconds.
inline constexpr std::string_view kRetryRemainingHeader = "x-retry-remaining";

// Only where a message has failed in other queues, too: a table of int64, how often in each of
// those. At most kMostQueuesElsewhere; where there are more, "" has the most of what is left out.
inline constexpr std::string_view kRetryElsewhereHeader = "x-retry-elsewhere";
inline constexpr std::size_t kMostQueuesElsewhere = 16;

// Only on copies in a parked queue: when they were parked.
inline constexpr std::string_view kRetryParkedHeader = "x-retry-parked";

// What `retryq parked edit` sets: when the message was edited.
inline constexpr std::string_view kRetryEditedHeader = "x-retry-edited";

// Bytes, of names, routing keys and message ids: short strings in AMQP 0-9-1.
inline constexpr std::size_t kLongestName = 255;

// What retrying owns.
inline constexpr std::array kRetryHeaders = {
    kRetryCountHeader, kRetryFirstFailureHeader, kRetryNotBeforeHeader,  kRetryDelayHeader,
    kRetryQueueHeader, kRetryExchangeHeader,     kRetryRoutingKeyHeader, kRetryErrorHeader,
    kRetryIdHeader,    kRetryRemainingHeader,    kRetryParkedHeader,     kRetryElsewhereHeader,
};

// Whose the headers named `x-retry-…` of a message are. An application may use such names itself:
// they are believed, and hidden from handlers, only where all that retrying always writes together
// is there, with its wire types.
enum class RetryHeaders {
  kForeign,   // the application's, if there are any
  kReplayed,  // `x-retry-id` made by retrying, or `x-retry-edited` with any: by parked replay, edit
  kDelayed,   // on the way through several delay queues, and not yet handled: id, delay, not-before
              // and remaining
  kCopied,    // of a copy: count, queue, exchange, routing-key and id, and any of the others
};
RetryHeaders RetryHeadersIn(amqp::TableView headers);

// Whether a header of that name belongs to retrying in such a message.
bool IsRetryHeader(std::string_view name, RetryHeaders whose);

// What RabbitMQ adds when it dead-letters.
inline constexpr std::string_view kDeathHeader = "x-death";
// How often a quorum queue has delivered the message before.
inline constexpr std::string_view kDeliveryCountHeader = "x-delivery-count";
// How often a quorum queue of RabbitMQ 4.3 or newer has delivered it before, failed or not.
inline constexpr std::string_view kAcquiredCountHeader = "x-acquired-count";

// Whether it is one of `kRetryHeaders`.
bool IsRetryHeader(std::string_view name);

// Whether the broker adds it when it delivers or dead-letters.
bool IsBrokerHeader(std::string_view name);

// Whether the broker adds it when it dead-letters.
bool IsDeathHeader(std::string_view name);

// Whether the broker would route a copy by it: `CC` or `BCC`.
bool IsRoutingHeader(std::string_view name);

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_DELIVERY_HEADERS_H_
