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

// Where replayed messages go.
struct ReplayTarget {
  std::string exchange;                    // "" is the default exchange: the key names a queue
  std::optional<std::string> routing_key;  // none = the one each says it was first published with
};

// What `retryq parked` is asked to do.
struct ParkedOptions {
  ParkedAction action = ParkedAction::kList;
  amqp::ConnectionOptions connection;
  ManagementUrl management;  // is asked for the queue's delivery limit
  std::string work_queue;
  std::string queue;  // where its messages are parked
  MessageChoice choice;
  bool foreign = false;  // replay and drop what retryq did not park, too
  bool json = false;
  bool by_error = false;             // list: how many there are of each error
  std::vector<std::string> columns;  // list: properties and headers to show besides
  BodyFormat body = BodyFormat::kAuto;
  std::optional<ReplayTarget> target;    // none = the queue that each failed in
  std::optional<std::string> body_file;  // replay: of the body to replace that of the one message
  double rate = 0;                       // a second; 0 = no limit
  std::uint16_t window = 256;            // copies that are unconfirmed at a time
  bool dry_run = false;
  bool ask = false;  // on the terminal, before anything is replayed or dropped
};

// The arguments behind `retryq parked`, RETRYQ_URL taken into account. kInvalidArgument with all
// that is wrong, a line each, naming the flag and the remedy.
absl::StatusOr<std::variant<ParkedOptions, Answer>> ParseParked(const Arguments& arguments);

// Does what `retryq parked` is asked to do.
MessagesResult Parked(const ParkedOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PARKED_PARKED_COMMAND_H_
