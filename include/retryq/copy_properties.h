#ifndef RETRYQ_COPY_PROPERTIES_H_
#define RETRYQ_COPY_PROPERTIES_H_

#include <cstdint>
#include <string>

#include "retryq/amqp/properties.h"
#include "retryq/export.h"

namespace retryq {

// Why a message is published again, or first with a delay.
enum class CopyPath : std::uint8_t {
  kRetry,      // to a delay queue (a retry, a snooze, the rest of a delay) or to the parked queue
  kUnchanged,  // to the parked queue, where there is no room for the headers of retrying
  kReturn,     // to its own queue, as the message that it was
  kDelayedFirst,  // by its first publisher, to a delay queue
  kReplay,        // out of the parked queue, to be handled anew
  kEdit,          // the same, and edited
  kRelease,       // out of a delay queue, to its work queue or to the parked queue
};

// What a copy takes over of a message's properties. The headers that stay are appended to
// `*headers`, byte for byte, and `headers` of the result views them, unless the message has none.
// Both must outlive the result. The table "What a copy takes over" in doc/on_the_wire.md says what
// each path leaves behind, and what the copies of this library add.
RETRYQ_EXPORT amqp::Properties CopyProperties(const amqp::Properties& properties, CopyPath path,
                                              std::string* headers);

}  // namespace retryq

#endif  // RETRYQ_COPY_PROPERTIES_H_
