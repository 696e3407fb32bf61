#ifndef RETRYQ_CLI_FLAGS_FLAG_PARSER_H_
#define RETRYQ_CLI_FLAGS_FLAG_PARSER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/flags/flag_description.h"
#include "cli/flags/flag_reader.h"

namespace retryq::cli {

using Arguments = std::vector<std::string>;

// The text that --help or --version prints.
struct Answer {
  std::string text;
  std::vector<FlagDescription> flags = {};  // all flags, with kDescribeFlags
};

// As the only argument, requests a description of all flags, before any other check. The text
// contains them as well, one per line.
inline constexpr char kDescribeFlags[] = "--describe-flags";

// The help of a subcommand before and after its flags.
struct HelpText {
  std::string_view description;
  std::string_view usage;  // after "Usage: "
  std::string_view footer;
};

// The flags of one subcommand, parsed with CLI11. It only splits the arguments into texts;
// FlagReader converts them to values.
class FlagParser {
 public:
  explicit FlagParser(const HelpText& help);
  FlagParser(FlagParser&&) noexcept;
  FlagParser& operator=(FlagParser&&) noexcept;
  ~FlagParser();

  // Begins a group of flags in the help.
  void Group(const std::string& name);

  // Adds `--name VALUE`, once or repeatable. `value` is a list of the possible words, such as
  // "classic|quorum", or FILE for a file.
  void Add(const std::string& flag, const std::string& value, FlagText* text,
           const std::string& help);
  void Add(const std::string& flag, const std::string& value, std::vector<std::string>* texts,
           const std::string& help);
  // Adds a repeatable `--name VALUE`. All flags that are added with this method call `take` in the
  // order in which they are given.
  void AddInOrder(const std::string& flag, const std::string& value,
                  std::function<void(const std::string& given)> take, const std::string& help);
  // Adds `--name`.
  void Add(const std::string& flag, bool* set, const std::string& help);
  // Adds a positional argument; at most one.
  void AddPositional(const std::string& name, FlagText* text, const std::string& help);

  // Parses the arguments. Returns the help if it was requested. Reports unexpected arguments to
  // `reader`; returns kInvalidArgument if the arguments cannot be parsed at all.
  absl::StatusOr<std::optional<Answer>> Parse(const Arguments& arguments, FlagReader& reader);

  // Parses the arguments and calls `read`, which converts them to options and reports errors to its
  // reader. Returns the options, the help if it was requested, or kInvalidArgument with all errors.
  template <typename Read, typename Options = std::invoke_result_t<Read, FlagReader&>>
  absl::StatusOr<std::variant<Options, Answer>> ParseInto(const Arguments& arguments,
                                                          const Read& read) {
    FlagReader reader;
    const absl::StatusOr<std::optional<Answer>> answer = Parse(arguments, reader);
    if (!answer.ok()) return answer.status();
    if (answer->has_value()) return **answer;
    Options options = read(reader);
    if (absl::Status status = reader.status(); !status.ok()) return status;
    return options;
  }

 private:
  // Keeps CLI11 out of this header, as it takes seconds to compile.
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Parses the arguments of a subcommand: `add` adds its flags to the parser, and `read` converts
// their values to options. `flags` has the initial values.
template <typename Options, typename Flags>
absl::StatusOr<std::variant<Options, Answer>> ParseFlags(
    const HelpText& help, const Arguments& arguments, Flags flags,
    void (*add)(FlagParser&, std::type_identity_t<Flags>&),
    Options (*read)(const std::type_identity_t<Flags>&, FlagReader&)) {
  FlagParser parser(help);
  add(parser, flags);
  return parser.ParseInto(arguments, [&](FlagReader& reader) { return read(flags, reader); });
}

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_FLAGS_FLAG_PARSER_H_
