#ifndef RETRYQ_CLI_EVENT_LINE_H_
#define RETRYQ_CLI_EVENT_LINE_H_

#include <string>
#include <string_view>

#include "retryq/observer.h"

namespace retryq::cli {

// An event as a line, without the line break. `name` says what happened, in place of `event.kind`;
// fields that are not set are left out; what is not UTF-8 becomes U+FFFD, and control characters
// are escaped.

// {"time":"2026-11-21T01:26:15.000Z","event":"retried","queue":"orders","attempt":0,"delay_ms":1000,
//  "delay_queue":"retry.1000","id":"6f1d","error":"exit 3"}
std::string JsonLine(std::string_view name, const Event& event);

// 2026-11-21T01:26:15.000Z retried queue=orders attempt=0 delay=1s delay_queue=retry.1000 id=6f1d
//   error="exit 3", all on one line; quotes where a value needs them.
std::string TextLine(std::string_view name, const Event& event);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_EVENT_LINE_H_
