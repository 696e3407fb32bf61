#ifndef RETRYQ_CLI_PARKED_PARKED_ROW_H_
#define RETRYQ_CLI_PARKED_PARKED_ROW_H_

#include <string>
#include <vector>

#include "retryq/amqp/message.h"

namespace retryq::cli {

// Fields of messages that are shown besides, by the names that FieldNamed takes.
using Columns = std::vector<std::string>;

// The heads of the table's columns.
std::string ParkedTableHead(const Columns& columns);

// A parked message as a line of the table, safe for a terminal, and as a JSON object. What it does
// not say is `-`, and absent.
std::string ParkedTableRow(const amqp::Message& message, const Columns& columns);
std::string ParkedJsonRow(const amqp::Message& message, const Columns& columns);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PARKED_PARKED_ROW_H_
