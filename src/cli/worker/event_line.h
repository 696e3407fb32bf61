#ifndef RETRYQ_CLI_WORKER_EVENT_LINE_H_
#define RETRYQ_CLI_WORKER_EVENT_LINE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "retryq/observer.h"

namespace retryq::cli {

// What a line has besides its event.
struct LineExtras {
  std::string_view url = {};   // one that the command itself reports
  std::uint64_t repeated = 0;  // how many such events have not been logged
  // Of the event's message, where `Event::delivery` does not have it any more.
  std::string_view trace_id = {};
};

// The longest text in a line, in bytes; of a longer one the beginning is there, and "…".
inline constexpr std::size_t kLongestText = 500;

// An event as a line, without the line break. `name` and `severity` say what happened, in place of
// `event.kind`; fields that are not set are left out; what is not UTF-8 becomes U+FFFD, and control
// characters are escaped.

// {"time":"2026-11-21T01:26:15.000Z","level":"info","event":"retried","queue":"orders","attempt":0,
//  "delay_ms":1000,"delay_queue":"retry.1000","id":"6f1d","error":"exit 3"}
// and where they are known trace_id, cause, late_ms, took_ms, confirm_ms, in_flight, delay_queues
// and repeated.
std::string JsonLine(Severity severity, std::string_view name, const Event& event,
                     const LineExtras& extras = {});

// 2026-11-21T01:26:15.000Z info retried queue=orders attempt=0 delay=1s delay_queue=retry.1000
//   id=6f1d error="exit 3", all on one line; quotes where a value needs them. Of the figures, those
//   that tell something of the one message: late and took. repeated=7 where there are such events.
std::string TextLine(Severity severity, std::string_view name, const Event& event,
                     const LineExtras& extras = {});

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_EVENT_LINE_H_
