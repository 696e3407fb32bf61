#include "cli/waiting/waiting_row.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"
#include "cli/messages/message_past.h"
#include "cli/text/duration.h"
#include "cli/text/json_line.h"

namespace retryq::cli {
namespace {

std::string WaitingTableLine(const std::string& due, const std::string& attempts,
                             const std::string& delay_queue, const std::string& id,
                             const std::string& more, const std::string& error) {
  return absl::StrFormat("%-20s  %8s  %-24s  %-32s  ", due, attempts, delay_queue, id)
      .append(more)
      .append(error);
}

}  // namespace

std::string WaitingTableHead(const Columns& columns) {
  return WaitingTableLine("due", "attempts", "delay queue", "id", ColumnHeads(columns), "error");
}

std::string WaitingTableRow(const amqp::Message& message, const WaitingQueue& queue,
                            const Columns& columns) {
  const MessagePast past(message);
  return WaitingTableLine(TimeOrDash(past.due),
                          past.attempts ? std::to_string(*past.attempts) : "-",
                          TextOrDash(queue.name), TextOrDash(past.id),
                          ColumnValues(message, columns), TextOrDash(past.error));
}

nlohmann::ordered_json WaitingJsonRow(const amqp::Message& message, const WaitingQueue& queue,
                                      const Columns& columns) {
  const MessagePast past(message);
  nlohmann::ordered_json json = MessageJsonRow(message, columns);
  if (past.attempts) json["attempt"] = *past.attempts;
  if (past.due) json["due"] = JsonTime(*past.due);
  json["delay_ms"] = absl::ToInt64Milliseconds(queue.ttl);
  json["delay_queue"] = queue.name;
  return json;
}

std::string DueText(const amqp::Message& message, absl::Time now) {
  const MessagePast past(message);
  if (!past.due) return "";
  if (*past.due < now) return "overdue";
  for (const absl::Duration span :
       {absl::Minutes(1), absl::Minutes(10), absl::Hours(1), absl::Hours(6), absl::Hours(24)}) {
    if (*past.due - now <= span) return "within " + DurationText(span);
  }
  return "later";
}

}  // namespace retryq::cli
