#ifndef RETRYQ_CLI_MESSAGES_MESSAGE_FIELDS_H_
#define RETRYQ_CLI_MESSAGES_MESSAGE_FIELDS_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "retryq/amqp/message.h"

namespace retryq::cli {

// The properties of a message except its headers, by their AMQP names ("correlation-id") and in
// AMQP's order.
std::vector<std::pair<std::string, std::string>> PropertiesOf(const amqp::Message& message);

// Returns the property of this name, otherwise the header: a string unchanged, any other type as
// JSON. Returns nullopt if the message has neither.
std::optional<std::string> FieldNamed(const amqp::Message& message, const std::string& name);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MESSAGES_MESSAGE_FIELDS_H_
