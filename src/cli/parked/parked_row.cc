#include "cli/parked/parked_row.h"

#include <string_view>

#include "absl/strings/str_format.h"
#include "cli/messages/message_past.h"

namespace retryq::cli {
namespace {

std::string Row(std::string_view parked, std::string_view first_failure, std::string_view attempts,
                std::string_view origin, std::string_view bytes, std::string_view id,
                std::string_view more, std::string_view error) {
  return absl::StrFormat("%-20s  %-20s  %8s  %-20s  %8s  %-32s  ", std::string(parked),
                         std::string(first_failure), std::string(attempts), std::string(origin),
                         std::string(bytes), std::string(id))
      .append(more)
      .append(error);
}

}  // namespace

std::string ParkedTableHead(const Columns& columns) {
  return Row("parked", "first failed", "attempts", "origin", "bytes", "id", ColumnHeads(columns),
             "error");
}

std::string ParkedTableRow(const amqp::Message& message, const Columns& columns) {
  const MessagePast past(message);
  return Row(TimeOrDash(past.parked), TimeOrDash(past.first_failure),
             past.attempts ? std::to_string(*past.attempts) : "-", OriginOf(past),
             std::to_string(message.body.size()), TextOrDash(past.id),
             ColumnValues(message, columns), TextOrDash(past.error));
}

}  // namespace retryq::cli
