#ifndef RETRYQ_CLI_WORKER_TRACE_ID_H_
#define RETRYQ_CLI_WORKER_TRACE_ID_H_

#include <string_view>

#include "retryq/delivery.h"

namespace retryq::cli {

// Returns the trace id in a `traceparent` (W3C Trace Context), 32 hex digits, as a view into it;
// empty if it is malformed. https://www.w3.org/TR/trace-context/#traceparent-header
std::string_view TraceIdIn(std::string_view traceparent);

// Returns the trace id in the message's header `traceparent`; empty if there is none. The view is
// valid as long as a copy of the delivery exists.
std::string_view TraceIdOf(const Delivery& delivery);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_TRACE_ID_H_
