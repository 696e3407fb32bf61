#ifndef RETRYQ_CLI_WAITING_WAITING_COMMAND_H_
#define RETRYQ_CLI_WAITING_WAITING_COMMAND_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/flags/flag_parser.h"
#include "cli/management/management_flags.h"
#include "cli/messages/message_pass.h"
#include "cli/messages/message_row.h"
#include "cli/messages/message_text.h"

namespace retryq::cli {

enum class WaitingAction { kList, kShow, kRelease, kPark, kDrop };

// What `list` counts instead of listing.
enum class WaitingCount { kNone, kError, kAttempt, kDue };

// What `retryq waiting` is asked to do.
struct WaitingOptions {
  WaitingAction action = WaitingAction::kList;
  BrokerPlace place;
  std::string work_queue;
  std::string parked_queue;  // where `park` parks them
  std::string prefix;        // of the delay queues
  MessageChoice choice;
  bool json = false;
  WaitingCount by = WaitingCount::kNone;
  Columns columns;  // list: properties and headers to show besides
  BodyFormat body = BodyFormat::kAuto;
  double rate = 0;             // a second; 0 = no limit
  std::uint16_t window = 256;  // copies that are unconfirmed at a time
  bool dry_run = false;
  bool ask = false;  // on the terminal, before anything is taken
};

// The arguments behind `retryq waiting`, RETRYQ_URL taken into account. kInvalidArgument with all
// that is wrong, a line each, naming the flag and the remedy.
absl::StatusOr<std::variant<WaitingOptions, Answer>> ParseWaiting(const Arguments& arguments);

// Does what `retryq waiting` is asked to do. Errors name the object and the remedy.
MessagesResult RunWaitingCommand(const WaitingOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WAITING_WAITING_COMMAND_H_
