#ifndef RETRYQ_CLI_FLAG_PARSER_H_
#define RETRYQ_CLI_FLAG_PARSER_H_

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/flag_reader.h"

namespace retryq::cli {

using Arguments = std::vector<std::string>;

// Text that was asked for by --help or --version.
struct Answer {
  std::string text;
};

// The flags of one subcommand: CLI11 with our manners. It only takes texts apart; FlagReader makes
// values of them.
class FlagParser {
 public:
  // `usage` is what follows "Usage: ", `footer` ends the help.
  FlagParser(std::string description, std::string usage, std::string footer);

  // Begins a group of flags in the help.
  void Group(const std::string& name) { group_ = name; }

  // `--name VALUE`, once, and each time.
  void Add(const std::string& flag, const std::string& value, FlagText* text,
           const std::string& help);
  void Add(const std::string& flag, const std::string& value, std::vector<std::string>* texts,
           const std::string& help);
  // `--name`.
  void Add(const std::string& flag, bool* set, const std::string& help);
  // An argument without a flag, at most one.
  void AddPositional(const std::string& name, FlagText* text, const std::string& help);

  // Takes the arguments apart. Returns the help, if it was asked for. What is there and should not
  // be goes to `reader`; kInvalidArgument if the rest could not even be taken apart.
  absl::StatusOr<std::optional<Answer>> Parse(const Arguments& arguments, FlagReader& reader);

 private:
  CLI::App app_;
  std::string group_ = "Options";
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_FLAG_PARSER_H_
