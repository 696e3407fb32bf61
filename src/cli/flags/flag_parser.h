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

// Text that was asked for by --help or --version.
struct Answer {
  std::string text;
  std::vector<FlagDescription> flags = {};  // all there are, if kDescribeFlags asked for them
};

// As the only argument: asks what flags there are, and is answered before anything else is looked
// at. The text says it too, a line each.
inline constexpr char kDescribeFlags[] = "--describe-flags";

// What the help of a subcommand says around its flags.
struct HelpText {
  std::string_view description;
  std::string_view usage;  // behind "Usage: "
  std::string_view footer;
};

// The flags of one subcommand: CLI11 with our manners. It only takes texts apart; FlagReader makes
// values of them.
class FlagParser {
 public:
  explicit FlagParser(const HelpText& help);
  FlagParser(FlagParser&&) noexcept;
  FlagParser& operator=(FlagParser&&) noexcept;
  ~FlagParser();

  // Begins a group of flags in the help.
  void Group(const std::string& name);

  // `--name VALUE`, once, and each time. A value that is one of some words is named by them:
  // "classic|quorum"; one that is a file FILE.
  void Add(const std::string& flag, const std::string& value, FlagText* text,
           const std::string& help);
  void Add(const std::string& flag, const std::string& value, std::vector<std::string>* texts,
           const std::string& help);
  // `--name VALUE`, each time: in the order in which all flags added so are given.
  void AddInOrder(const std::string& flag, const std::string& value,
                  std::function<void(const std::string& given)> take, const std::string& help);
  // `--name`.
  void Add(const std::string& flag, bool* set, const std::string& help);
  // An argument without a flag, at most one.
  void AddPositional(const std::string& name, FlagText* text, const std::string& help);

  // Takes the arguments apart. Returns the help, if it was asked for. What is there and should not
  // be goes to `reader`; kInvalidArgument if the rest could not even be taken apart.
  absl::StatusOr<std::optional<Answer>> Parse(const Arguments& arguments, FlagReader& reader);

  // Does that, and has `read` make options of what was given, which gets a reader to
  // complain to. Returns the options; or the help, if it was asked for; or kInvalidArgument with
  // all that is wrong.
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
  // Keeps CLI11 out of this header: compiling it takes seconds.
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// How each subcommand parses its arguments, with flags and options of its own: `add` tells the
// parser of the flags, and `read` makes options of what was given for them. `flags` are what they
// are before anything was.
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
