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

// The field by which `list` counts messages instead of listing them.
enum class WaitingCount { kNone, kError, kAttempt, kDue };

// The options of `retryq waiting`.
struct WaitingOptions {
  WaitingAction action = WaitingAction::kList;
  BrokerPlace place;
  std::string work_queue;
  std::string parked_queue;  // the target of `park`
  std::string prefix;        // of the delay queues
  MessageChoice choice;
  bool json = false;
  WaitingCount by = WaitingCount::kNone;
  Columns columns;  // list: properties and headers to show, too
  BodyFormat body = BodyFormat::kAuto;
  double rate = 0;             // per second; 0: unlimited
  std::uint16_t window = 256;  // copies that are unconfirmed at a time
  bool dry_run = false;
  bool ask = false;  // on the terminal, before messages are taken
};

// Parses the arguments of `retryq waiting` and RETRYQ_URL. Returns kInvalidArgument with all
// errors, one per line, each with the flag and the remedy.
absl::StatusOr<std::variant<WaitingOptions, Answer>> ParseWaiting(const Arguments& arguments);

// Runs `retryq waiting`. Errors name the object and the remedy.
MessagesResult RunWaitingCommand(const WaitingOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WAITING_WAITING_COMMAND_H_
