#ifndef RETRYQ_SRC_BASE_HEADER_NAMES_H_
#define RETRYQ_SRC_BASE_HEADER_NAMES_H_

#include <algorithm>
#include <array>
#include <string_view>

namespace retryq {

// The headers that retryq sets, see "The copy" in doc/on_the_wire.md. Numbers are int64, times are
// milliseconds since the Unix epoch, texts are long strings.
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
// Only if a message has failed in other queues too: a table that maps each queue to the number of
// failures there, an int64.
inline constexpr std::string_view kRetryElsewhereHeader = "x-retry-elsewhere";
// Only on copies in a parked queue: when they were parked.
inline constexpr std::string_view kRetryParkedHeader = "x-retry-parked";

// Only on copies, if a tracer sets them: the trace context of the last attempt (W3C Trace Context).
inline constexpr std::string_view kRetryTraceparentHeader = "x-retry-traceparent";
inline constexpr std::string_view kRetryTracestateHeader = "x-retry-tracestate";

// Set by `retryq parked edit`: when the message was edited.
inline constexpr std::string_view kRetryEditedHeader = "x-retry-edited";

// The headers that the library sets.
inline constexpr std::array kRetryHeaders = {
    kRetryCountHeader,       kRetryFirstFailureHeader, kRetryNotBeforeHeader,
    kRetryDelayHeader,       kRetryQueueHeader,        kRetryExchangeHeader,
    kRetryRoutingKeyHeader,  kRetryErrorHeader,        kRetryIdHeader,
    kRetryRemainingHeader,   kRetryParkedHeader,       kRetryElsewhereHeader,
    kRetryTraceparentHeader, kRetryTracestateHeader,
};

// RabbitMQ adds this header when it dead-letters a message.
inline constexpr std::string_view kDeathHeader = "x-death";
// How often a quorum queue has delivered the message before.
inline constexpr std::string_view kDeliveryCountHeader = "x-delivery-count";
// How often a quorum queue of RabbitMQ 4.3 or newer has delivered it before, failed or not.
inline constexpr std::string_view kAcquiredCountHeader = "x-acquired-count";

// Whether the name is one of `kRetryHeaders`.
constexpr bool IsRetryHeader(std::string_view name) {
  return name.starts_with(kRetryPrefix) &&
         std::find(kRetryHeaders.begin(), kRetryHeaders.end(), name) != kRetryHeaders.end();
}

// Whether the header has the trace context of an attempt.
constexpr bool IsTraceHeader(std::string_view name) {
  // This letter distinguishes most names; it is compared for each header of each copy.
  return name.size() > kRetryPrefix.size() && name[kRetryPrefix.size()] == 't' &&
         (name == kRetryTraceparentHeader || name == kRetryTracestateHeader);
}

// Whether the broker adds the header when it dead-letters a message.
constexpr bool IsDeathHeader(std::string_view name) {
  return name == kDeathHeader || name.starts_with("x-first-death-") ||
         name.starts_with("x-last-death-");
}

// Whether the broker adds the header when it delivers or dead-letters a message.
constexpr bool IsBrokerHeader(std::string_view name) {
  if (!name.starts_with("x-")) return false;
  return IsDeathHeader(name) || name == kDeliveryCountHeader || name == kAcquiredCountHeader;
}

// Whether the header contains further routing keys of the message.
constexpr bool IsRoutingHeader(std::string_view name) { return name == "CC" || name == "BCC"; }

}  // namespace retryq

#endif  // RETRYQ_SRC_BASE_HEADER_NAMES_H_
