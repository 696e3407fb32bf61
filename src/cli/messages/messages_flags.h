#ifndef RETRYQ_CLI_MESSAGES_MESSAGES_FLAGS_H_
#define RETRYQ_CLI_MESSAGES_MESSAGES_FLAGS_H_

#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/flags/flag_parser.h"
#include "cli/messages/messages_command.h"

namespace retryq::cli {

// `retryq parked` or `retryq waiting`.
struct MessagesCommand {
  struct Subcommand {
    std::string name;
    MessageAction action;
    std::string description;
    std::string footer;  // end of its help
  };

  std::string name;         // "retryq parked"
  std::string description;  // of the help without a subcommand
  std::string footer;
  MessagesOptions defaults;
  // Adds the flags that the other command does not have, after --queue.
  void (*add_flags)(FlagParser& parser, MessagesOptions* options);
  std::vector<Subcommand> subcommands;
};

// Parses the arguments: a subcommand, the flags that both commands share, and those of `add_flags`.
absl::StatusOr<std::variant<MessagesOptions, Answer>> ParseMessages(const MessagesCommand& command,
                                                                    const Arguments& arguments);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MESSAGES_MESSAGES_FLAGS_H_
