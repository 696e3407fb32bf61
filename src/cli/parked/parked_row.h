#ifndef RETRYQ_CLI_PARKED_PARKED_ROW_H_
#define RETRYQ_CLI_PARKED_PARKED_ROW_H_

#include <string>

#include "retryq/amqp/message.h"

namespace retryq::cli {

// The heads of the table's columns.
std::string ParkedTableHead();

// A parked message as a line of the table, safe for a terminal, and as a JSON object. What it does
// not say is `-`, and absent.
std::string ParkedTableRow(const amqp::Message& message);
std::string ParkedJsonRow(const amqp::Message& message);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PARKED_PARKED_ROW_H_
