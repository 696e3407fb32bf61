#include "cli/flags/own_commands.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace retryq::cli {
namespace {

// "list, show or drop"
std::string InWords(const std::vector<std::string>& names) {
  return absl::StrCat(absl::StrJoin(names.begin(), names.end() - 1, ", "), " or ", names.back());
}

}  // namespace

absl::StatusOr<Answer> ParseWithoutCommand(const OwnCommands& own, const Arguments& arguments) {
  const bool asks_for_flags = arguments == Arguments{kDescribeFlags};
  const bool asks_for_help =
      !arguments.empty() && (arguments.front() == "-h" || arguments.front() == "--help");
  if (!asks_for_flags && !asks_for_help) {
    return absl::InvalidArgumentError(
        absl::StrCat(arguments.empty() || arguments.front().starts_with('-')
                         ? std::string("a command is missing")
                         : "there is no command '" + arguments.front() + "'",
                     ": say ", InWords(own.names), "; see ", own.who, " --help"));
  }
  const std::string names = absl::StrJoin(own.names, "|");
  const std::string usage = absl::StrCat(own.who, " ", names, " --queue QUEUE [OPTIONS]");
  FlagParser parser({.description = own.description, .usage = usage, .footer = own.footer});
  FlagText command;
  // The help contains its own list.
  if (asks_for_flags) parser.AddPositional(names, &command, "What to do");
  FlagReader reader;
  const absl::StatusOr<std::optional<Answer>> answer =
      parser.Parse({asks_for_flags ? kDescribeFlags : "--help"}, reader);
  if (!answer.ok()) return answer.status();
  return answer->value();
}

}  // namespace retryq::cli
