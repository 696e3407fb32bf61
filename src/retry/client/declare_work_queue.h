#ifndef RETRYQ_SRC_RETRY_CLIENT_DECLARE_WORK_QUEUE_H_
#define RETRYQ_SRC_RETRY_CLIENT_DECLARE_WORK_QUEUE_H_

#include <functional>

#include "absl/status/status.h"
#include "retryq/broker.h"
#include "retryq/work_queue.h"

namespace retryq {

// kInvalidArgument names the wrong fields.
absl::Status Validate(const WorkQueue& work_queue);

// Declares a valid work queue and what leads to it, once: the queue is looked for first where
// `only_if_missing`. Errors name the object, how it differs and the remedy: kFailedPrecondition (it
// exists with other arguments, or is exclusive to another connection), kInvalidArgument (the broker
// knows no such argument or type), kPermissionDenied, kResourceExhausted, kNotFound (the node of a
// classic queue is down); kUnavailable: the connection is not there, or was lost.
//
// `done` never comes from inside, and may come after the caller is gone: until the broker is.
void DeclareWorkQueue(Broker& broker, WorkQueue work_queue, bool only_if_missing,
                      std::function<void(const absl::Status&)> done);

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_CLIENT_DECLARE_WORK_QUEUE_H_
