#ifndef RETRYQ_SRC_RETRY_CLIENT_DECLARE_WORK_QUEUE_H_
#define RETRYQ_SRC_RETRY_CLIENT_DECLARE_WORK_QUEUE_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "retryq/broker/broker.h"
#include "retryq/work_queue.h"

namespace retryq {

// Returns kInvalidArgument naming the wrong fields.
absl::Status Validate(const WorkQueue& work_queue);

// Returns kInvalidArgument if AMQP cannot carry the arguments.
absl::Status ValidateArguments(const amqp::Table& arguments);

// Declares a valid work queue, its exchanges and its bindings, once. With `is_missing`, checks
// first whether the queue exists, and remembers there that it does not: the next call then declares
// at once, because the check of a long name may cost the connection (F75). Errors name the object,
// how it differs and the remedy: kFailedPrecondition (it exists with other arguments, or is
// exclusive to another connection), kInvalidArgument (the broker does not know an argument or
// type), kPermissionDenied, kResourceExhausted, kNotFound (the node of a classic queue is down),
// kUnavailable (there is no connection, or it was lost).
//
// `done` is never called inside this call. It may be called after the caller is destroyed, until
// the broker is.
void DeclareWorkQueue(Broker& broker, WorkQueue work_queue, std::shared_ptr<bool> is_missing,
                      std::function<void(const absl::Status&)> done);

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_CLIENT_DECLARE_WORK_QUEUE_H_
