#ifndef RETRYQ_CLI_WORKER_EVENT_LINE_H_
#define RETRYQ_CLI_WORKER_EVENT_LINE_H_

#include <string>
#include <string_view>

#include "retryq/observer.h"

namespace retryq::cli {

// An event as a line, without the line break. `name` and `severity` say what happened, in place of
// `event.kind`; fields that are not set are left out; what is not UTF-8 becomes U+FFFD, and control
// characters are escaped. `url` is one that the command itself has to tell.

// {"time":"2026-11-21T01:26:15.000Z","level":"info","event":"retried","queue":"orders","attempt":0,
//  "delay_ms":1000,"delay_queue":"retry.1000","id":"6f1d","error":"exit 3"}
// and where they are known cause, late_ms, took_ms, confirm_ms, in_flight and delay_queues.
std::string JsonLine(Severity severity, std::string_view name, const Event& event,
                     std::string_view url = {});

// 2026-11-21T01:26:15.000Z info retried queue=orders attempt=0 delay=1s delay_queue=retry.1000
//   id=6f1d error="exit 3", all on one line; quotes where a value needs them. Of the figures, those
//   that tell something of the one message: late and took.
std::string TextLine(Severity severity, std::string_view name, const Event& event,
                     std::string_view url = {});

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_EVENT_LINE_H_
