#ifndef RETRYQ_BROKER_COPY_PROPERTIES_H_
#define RETRYQ_BROKER_COPY_PROPERTIES_H_

#include <cstdint>
#include <string>

#include "retryq/amqp/properties.h"
#include "retryq/export.h"

namespace retryq {

// Why a message is published again, or for the first time with a delay.
enum class CopyPath : std::uint8_t {
  kRetry,      // to a delay queue (a retry, a snooze, the rest of a delay) or to the parked queue
  kUnchanged,  // to the parked queue, if there is no room for the retry headers
  kReturn,     // to its own queue, as the original message
  kDelayedFirst,  // by its first publisher, to a delay queue
  kReplay,        // from the parked queue, to be handled again
  kEdit,          // like kReplay, and edited
  kRelease,       // from a delay queue, to its work queue or to the parked queue
};

// Returns the properties of a message that its copy keeps. The headers that it keeps are appended
// to `*headers`, byte for byte, and `headers` of the result is a view of them, unless the message
// has none. Both must outlive the result. The section "The copy" in doc/on_the_wire.md lists what
// each path omits, and what the copies of this library add.
RETRYQ_EXPORT amqp::Properties CopyProperties(const amqp::Properties& properties, CopyPath path,
                                              std::string* headers);

}  // namespace retryq

#endif  // RETRYQ_BROKER_COPY_PROPERTIES_H_
