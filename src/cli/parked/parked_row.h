#ifndef RETRYQ_CLI_PARKED_PARKED_ROW_H_
#define RETRYQ_CLI_PARKED_PARKED_ROW_H_

#include <string>

#include "cli/messages/message_row.h"
#include "retryq/amqp/message.h"

namespace retryq::cli {

// The column heads of the table.
std::string ParkedTableHead(const Columns& columns);

// A parked message as a row of the table.
std::string ParkedTableRow(const amqp::Message& message, const Columns& columns);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PARKED_PARKED_ROW_H_
