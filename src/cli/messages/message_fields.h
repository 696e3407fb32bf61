#ifndef RETRYQ_CLI_MESSAGES_MESSAGE_FIELDS_H_
#define RETRYQ_CLI_MESSAGES_MESSAGE_FIELDS_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "retryq/amqp/message.h"

namespace retryq::cli {

// The properties that a message has, headers aside, by the names that AMQP gives them
// ("correlation-id"), in AMQP's order.
std::vector<std::pair<std::string, std::string>> PropertiesOf(const amqp::Message& message);

// The property of this name, else the header: a text as it is, anything else as JSON. Nothing where
// the message has neither.
std::optional<std::string> FieldNamed(const amqp::Message& message, const std::string& name);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MESSAGES_MESSAGE_FIELDS_H_
