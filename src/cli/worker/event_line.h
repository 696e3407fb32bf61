#ifndef RETRYQ_CLI_WORKER_EVENT_LINE_H_
#define RETRYQ_CLI_WORKER_EVENT_LINE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "retryq/observer.h"

namespace retryq::cli {

// The fields of a line that are not in its event.
struct LineExtras {
  std::string_view url = {};   // a URL that the command itself reports
  std::uint64_t repeated = 0;  // the number of such events that were not logged
  // The trace id of the event's message if `Event::delivery` is not set any more.
  std::string_view trace_id = {};
};

// The longest text in a line, in bytes. A longer text is cut and ends in "…".
inline constexpr std::size_t kLongestText = 500;

// An event as a line, without the line break. `name` and `severity` replace `event.kind`. Fields
// that are not set are omitted, invalid UTF-8 becomes U+FFFD, and control characters are escaped.

// {"time":"2026-11-21T01:26:15.000Z","level":"info","event":"retried","queue":"orders","attempt":0,
//  "delay_ms":1000,"delay_queue":"retry.1000","id":"6f1d","error":"exit 3"}
// and, if they are known, trace_id, cause, late_ms, took_ms, confirm_ms, in_flight, delay_queues
// and repeated.
std::string JsonLine(Severity severity, std::string_view name, const Event& event,
                     const LineExtras& extras = {});

// 2026-11-21T01:26:15.000Z info retried queue=orders attempt=0 delay=1s delay_queue=retry.1000
//   id=6f1d error="exit 3", all on one line. Values are quoted if necessary. Of the other fields of
//   JsonLine it contains only late, took, repeated and url.
std::string TextLine(Severity severity, std::string_view name, const Event& event,
                     const LineExtras& extras = {});

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_EVENT_LINE_H_
