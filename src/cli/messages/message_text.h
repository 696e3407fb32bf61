#ifndef RETRYQ_CLI_MESSAGES_MESSAGE_TEXT_H_
#define RETRYQ_CLI_MESSAGES_MESSAGE_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/messages/queue_facts.h"
#include "retry/delivery/message_history.h"
#include "retryq/amqp/message.h"

namespace retryq::cli {

// A filter for messages. A message must match all fields that are set.
struct MessageFilter {
  std::vector<std::string> ids;      // x-retry-id, message-id or correlation-id
  std::optional<std::string> error;  // the last error contains this text; case-insensitive
  // The time since the message was parked or, if it does not have that time, since its first
  // failure. A message with neither time does not match.
  std::optional<absl::Duration> older_than;
  std::optional<absl::Duration> newer_than;
  // Headers and their values: strings, decimal whole numbers, true and false.
  std::vector<std::pair<std::string, std::string>> headers;

  bool Matches(const amqp::Message& message, absl::Time now) const;

  // Whether nothing is set, so that all messages match.
  bool empty() const {
    return ids.empty() && !error && !older_than && !newer_than && headers.empty();
  }
};

// Parked and waiting messages as text, safe for a terminal, and as JSON. `queue` is the delay queue
// of a waiting message, and null for a parked one.

// Additional fields to show: names of properties ("correlation-id") and of headers.
using Columns = std::vector<std::string>;

// A table that fits into a number of columns. The rows and the head are cells that are separated by
// tabs. The last cell is cut to the width that is left.
std::string MessageTableHead(bool is_waiting, const Columns& columns);
std::string MessageTableRow(const amqp::Message& message, const DelayQueue* queue,
                            const Columns& columns, absl::Time now);
std::string MessageTable(const std::string& head, const std::vector<std::string>& rows,
                         std::size_t width);

// The JSON fields of a message in all lists. A field that the message does not have is absent.
nlohmann::ordered_json MessageJsonRow(const amqp::Message& message, const DelayQueue* queue,
                                      const Columns& columns);

// The number of messages per value: a table, or with `json` one object per line,
// {"count":…,NAME:…}. The most frequent value comes first. Messages without the value are counted
// under the empty value.
std::string CountsText(const std::map<std::string, std::uint64_t>& counts, const std::string& name,
                       bool json);

// The format of a body.
enum class BodyFormat {
  kAuto,  // JSON or text if possible, otherwise hex
  kText,
  kJson,
  kHex,
  kRaw,  // only the bytes of the body
};

// A whole message as text, with at most `max_body` bytes of its body; for BodyFormat::kRaw only the
// bytes of the body. kInvalidArgument for BodyFormat::kJson if the body is not JSON.
absl::StatusOr<std::string> MessageText(const amqp::Message& message, const DelayQueue* queue,
                                        BodyFormat format, std::size_t max_body);

// A whole message as one JSON object: the fields of its row, "properties", "headers", "x_death" if
// it has that header, and "body", or "body_base64" if the body is not UTF-8.
std::string MessageJson(const amqp::Message& message, const DelayQueue* queue);

// The message, without the headers of the broker, as a line for `send --lines`, which publishes it
// to this queue again; nullopt if the line would not be complete: texts that are not UTF-8, deeply
// nested headers and names that occur twice do not fit into JSON.
std::optional<std::string> SendLine(const amqp::Message& message, const std::string& queue);

// The headers that `show` prints, as one JSON object on one line, without those of retrying and of
// the broker.
std::string VisibleHeaders(const amqp::Message& message);

// Formats a JSON value on several indented lines. Tokens stay unchanged, so numbers keep all digits
// and keys their order.
std::string LayOutJson(std::string_view json);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MESSAGES_MESSAGE_TEXT_H_
