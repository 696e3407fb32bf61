#ifndef RETRYQ_SRC_BASE_REMEDY_H_
#define RETRYQ_SRC_BASE_REMEDY_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace retryq {

// Returns the error with "; remedy: " and the remedy at the end of its message.
absl::Status WithRemedy(const absl::Status& error, std::string_view remedy);

// Returns the remedy for a missing permission: GrantRemedy("'read' on the queue") is "grant the
// user 'read' on the queue (rabbitmqctl set_permissions)".
//
// To declare an object, the user needs 'configure' on it; to consume a queue, 'read' on the queue;
// to publish, 'write' on the exchange. To look whether an object exists, RabbitMQ requires 'read'
// on a queue and 'write' on an exchange from 4.3 on (F48 in doc/rabbitmq_facts.md).
std::string GrantRemedy(std::string_view rights);

}  // namespace retryq

#endif  // RETRYQ_SRC_BASE_REMEDY_H_
