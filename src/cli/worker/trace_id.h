#ifndef RETRYQ_CLI_WORKER_TRACE_ID_H_
#define RETRYQ_CLI_WORKER_TRACE_ID_H_

#include <string_view>

#include "retryq/delivery.h"

namespace retryq::cli {

// The trace id in a `traceparent` of W3C Trace Context, 32 hex digits: a view into it. Empty where
// that is malformed. https://www.w3.org/TR/trace-context/#traceparent-header
std::string_view TraceIdIn(std::string_view traceparent);

// That of the message's header `traceparent`; empty where there is none. Lives as long as any copy
// of the delivery.
std::string_view TraceIdOf(const Delivery& delivery);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_TRACE_ID_H_
