#ifndef RETRYQ_CLI_WAITING_WAITING_ROW_H_
#define RETRYQ_CLI_WAITING_WAITING_ROW_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "absl/time/time.h"
#include "cli/messages/message_row.h"
#include "cli/waiting/waiting_queues.h"
#include "retryq/amqp/message.h"

namespace retryq::cli {

// The column heads of the table.
std::string WaitingTableHead(const Columns& columns);

// A waiting message as a row of the table, and as a JSON object.
std::string WaitingTableRow(const amqp::Message& message, const WaitingQueue& queue,
                            const Columns& columns);
nlohmann::ordered_json WaitingJsonRow(const amqp::Message& message, const WaitingQueue& queue,
                                      const Columns& columns);

// The approximate time until it is due: "overdue", "within 1m", …; empty if unknown.
std::string DueText(const amqp::Message& message, absl::Time now);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WAITING_WAITING_ROW_H_
