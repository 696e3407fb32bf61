#ifndef RETRYQ_CLI_MESSAGES_MESSAGES_COMMAND_H_
#define RETRYQ_CLI_MESSAGES_MESSAGES_COMMAND_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "cli/flags/flag_parser.h"
#include "cli/flags/shared_flags.h"
#include "cli/messages/message_text.h"

namespace retryq::cli {

enum class MessageAction { kList, kShow, kReplay, kEdit, kRelease, kPark, kDrop };

// Whether the action removes messages from their queue.
inline bool Removes(MessageAction action) {
  return action != MessageAction::kList && action != MessageAction::kShow;
}

// The target of replayed messages.
struct ReplayTarget {
  std::string exchange;                    // "" is the default exchange: the key names a queue
  std::optional<std::string> routing_key;  // not set: the key of the first publish
};

// The options of `retryq parked` and `retryq waiting`.
struct MessagesOptions {
  MessageAction action = MessageAction::kList;
  bool is_waiting = false;  // `retryq waiting`
  BrokerPlace place;
  std::string work_queue;
  std::string parked_queue;      // parked: the queue that is read; waiting: the target of `park`
  std::string prefix = "retry";  // of the delay queues
  MessageFilter filter;
  std::optional<std::uint64_t> limit;  // at most this many matches; not set: all
  bool json = false;
  std::string by;   // list: counts messages by "error", "attempt" or "due" instead of listing them
  Columns columns;  // list: properties and headers to show, too
  BodyFormat body = BodyFormat::kAuto;
  bool full = false;                     // show: does not cut the body
  std::optional<ReplayTarget> target;    // not set: the queue in which each failed
  std::optional<std::string> body_file;  // replay: file with the new body
  bool foreign = false;                  // includes messages that retryq did not park
  double rate = 0;                       // per second; 0: unlimited
  std::uint16_t window = 256;            // copies that are unconfirmed at a time
  bool dry_run = false;
  bool all = false;    // confirms that no filter is given
  bool yes = false;    // drop: does not ask
  bool ask = false;    // on the terminal, before messages are removed
  std::string backup;  // drop: file for the dropped messages; empty: none
};

// The result of a command on messages: a text to print, even if the command failed.
struct MessagesResult {
  std::string text;
  absl::Status status = absl::OkStatus();  // kCancelled: interrupted by a signal
  bool is_raw = false;                     // the text is bytes, not for a terminal
};

Parsed<MessagesOptions> ParseParked(const Arguments& arguments);
Parsed<MessagesOptions> ParseWaiting(const Arguments& arguments);

MessagesResult RunMessages(const MessagesOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MESSAGES_MESSAGES_COMMAND_H_
