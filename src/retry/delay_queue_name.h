#ifndef RETRYQ_SRC_RETRY_DELAY_QUEUE_NAME_H_
#define RETRYQ_SRC_RETRY_DELAY_QUEUE_NAME_H_

#include "retry/delay_queue_route.h"
#include "retryq/broker.h"
#include "retryq/delay_queue_options.h"

namespace retryq {

// The two names that a delay queue can have.
enum class NameFamily {
  kPlain,   // `<prefix>.<T>`, `<prefix>.<T>.direct`
  kHashed,  // the same with `.<hash>` behind it: eight hex digits over all arguments
};

// What to declare for a route: the queue with its arguments, and the fanout exchange
// of the same name. Depends on nothing else: all processes, platforms and
// versions agree on the names.
DeclareParams DelayQueueDeclaration(const DelayRoute& route, const DelayQueueOptions& options,
                                    NameFamily family);

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_DELAY_QUEUE_NAME_H_
