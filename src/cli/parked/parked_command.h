#ifndef RETRYQ_CLI_PARKED_PARKED_COMMAND_H_
#define RETRYQ_CLI_PARKED_PARKED_COMMAND_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/flags/flag_parser.h"
#include "cli/management/management_url.h"
#include "cli/messages/message_pass.h"
#include "cli/messages/message_text.h"
#include "retryq/amqp/connection_options.h"

namespace retryq::cli {

enum class ParkedAction { kList, kShow, kReplay, kEdit, kDrop };

// The target of replayed messages.
struct ReplayTarget {
  std::string exchange;                    // "" is the default exchange: the key names a queue
  std::optional<std::string> routing_key;  // not set: the key of the first publish
};

// The options of `retryq parked`.
struct ParkedOptions {
  ParkedAction action = ParkedAction::kList;
  amqp::ConnectionOptions connection;
  ManagementUrl management;  // for the queue's delivery limit
  std::string work_queue;
  std::string queue;  // the parked queue
  MessageChoice choice;
  bool foreign = false;  // includes messages that retryq did not park
  bool json = false;
  bool by_error = false;             // list: the number of messages by error
  std::vector<std::string> columns;  // list: properties and headers to show, too
  BodyFormat body = BodyFormat::kAuto;
  std::optional<ReplayTarget> target;    // not set: the queue in which each failed
  std::optional<std::string> body_file;  // replay: file with the new body
  double rate = 0;                       // per second; 0: unlimited
  std::uint16_t window = 256;            // copies that are unconfirmed at a time
  bool dry_run = false;
  bool ask = false;  // on the terminal, before a replay or drop
};

// Parses the arguments of `retryq parked` and RETRYQ_URL. Returns kInvalidArgument with all errors,
// one per line, each with the flag and the remedy.
absl::StatusOr<std::variant<ParkedOptions, Answer>> ParseParked(const Arguments& arguments);

// Runs `retryq parked`.
MessagesResult Parked(const ParkedOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PARKED_PARKED_COMMAND_H_
