#ifndef RETRYQ_CLI_MESSAGES_MESSAGE_ROW_H_
#define RETRYQ_CLI_MESSAGES_MESSAGE_ROW_H_

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "cli/messages/message_past.h"
#include "retryq/amqp/message.h"

namespace retryq::cli {

// Parts of the lines in lists of messages. Texts are safe for a terminal. A missing field is `-` in
// a table and absent in a JSON object.

// Additional fields to show, by the names that FieldNamed accepts.
using Columns = std::vector<std::string>;

// Column heads or values, each followed by spaces.
std::string ColumnHeads(const Columns& columns);
std::string ColumnValues(const amqp::Message& message, const Columns& columns);

std::string TextOrDash(std::optional<std::string_view> text);
// With a precision of seconds.
std::string TimeOrDash(std::optional<absl::Time> time);
// The queue in which it failed, with exchange and routing key unless it was published to the queue
// directly.
std::string OriginOf(const MessagePast& past);

// The JSON fields that all lists of messages contain.
nlohmann::ordered_json MessageJsonRow(const amqp::Message& message, const Columns& columns);

// The number of messages per value: a table, or with `json` one object per line,
// {"count":…,NAME:…}. The most frequent value comes first. An empty value stands for messages
// without one.
std::string CountsText(const std::map<std::string, std::uint64_t>& counts, const std::string& name,
                       bool json);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MESSAGES_MESSAGE_ROW_H_
