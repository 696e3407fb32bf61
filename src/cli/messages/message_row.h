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

// Parts of the lines that lists of messages are made of. Texts are safe for a terminal; what a
// message does not say is `-`, and absent from its object.

// Fields of messages that are shown besides, by the names that FieldNamed takes.
using Columns = std::vector<std::string>;

// Heads or values, each with the space behind it.
std::string ColumnHeads(const Columns& columns);
std::string ColumnValues(const amqp::Message& message, const Columns& columns);

std::string TextOrDash(std::optional<std::string_view> text);
// To the second.
std::string TimeOrDash(std::optional<absl::Time> time);
// The queue that it failed in, with exchange and routing key where it was not published to that by
// name.
std::string OriginOf(const MessagePast& past);

// What all lists of messages tell programs.
nlohmann::ordered_json MessageJsonRow(const amqp::Message& message, const Columns& columns);

// How many there are of each: a table, or with `json` an object a line, {"count":…,NAME:…}. The
// most frequent first. The empty text is what says nothing.
std::string CountsText(const std::map<std::string, std::uint64_t>& counts, const std::string& name,
                       bool json);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MESSAGES_MESSAGE_ROW_H_
