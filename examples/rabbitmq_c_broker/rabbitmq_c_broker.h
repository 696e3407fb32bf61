#ifndef RETRYQ_EXAMPLES_RABBITMQ_C_BROKER_RABBITMQ_C_BROKER_H_
#define RETRYQ_EXAMPLES_RABBITMQ_C_BROKER_RABBITMQ_C_BROKER_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "retryq/broker.h"
#include "retryq/executor.h"

namespace examples {

// retryq's Broker on rabbitmq-c and its blocking calls, for a program that has to stay with that
// client: a thread with a connection for publishing and declaring, and one for each subscription.
// They connect at once, and again by themselves. `loop` is where it is used, and where it calls
// back. kInvalidArgument: the URL is wrong, or one for TLS, which this leaves out.
//
// Destroying it, or a subscription, waits for the call that its thread is in: mostly nothing, and
// 15 s where a broker has stopped answering.
//
// What a blocking client costs: a declare that the broker does not answer holds up all publishes
// with it, until after 15 s the connection is given up; and rabbitmq-c decodes nested headers by
// recursion with no limit, so that every publisher can exhaust its stack.
absl::StatusOr<std::unique_ptr<retryq::Broker>> MakeRabbitmqCBroker(
    std::shared_ptr<retryq::Executor> loop, std::string_view url,
    const std::string& name = "rabbitmq_c_broker");

}  // namespace examples

#endif  // RETRYQ_EXAMPLES_RABBITMQ_C_BROKER_RABBITMQ_C_BROKER_H_
