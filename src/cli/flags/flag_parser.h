#ifndef RETRYQ_CLI_FLAGS_FLAG_PARSER_H_
#define RETRYQ_CLI_FLAGS_FLAG_PARSER_H_

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "retryq/client.h"
#include "retryq/duration.h"
#include "retryq/observer.h"
#include "retryq/retry_options.h"

namespace retryq::cli {

// Translates an error of the library about its option structs into the names of flags; one line per
// field.
absl::Status InWordsOfFlags(const absl::Status& status);

// The text of a flag, if given.
using FlagText = std::optional<std::string>;

// Converts the texts of flags to values. Collects all errors, so that the user sees them at once. A
// value whose text is missing or wrong keeps its default.
class FlagReader {
 public:
  void Read(std::string_view flag, const FlagText& text, absl::Duration* value);
  void Read(std::string_view flag, const FlagText& text, double* value);
  // Reads durations separated by commas.
  void Read(std::string_view flag, const FlagText& text, std::vector<Duration>* values);
  void Read(std::string_view flag, const FlagText& text, OnLimit* value);
  void Read(std::string_view flag, const FlagText& text, QueueType* value);
  void Read(std::string_view flag, const FlagText& text, CountRedeliveries* value);
  void Read(std::string_view flag, const FlagText& text, Severity* value);
  void Read(std::string_view flag, const FlagText& text, std::string* value);
  template <typename Value>
  void Read(std::string_view flag, const FlagText& text, std::optional<Value>* value) {
    if (text) Read(flag, text, &value->emplace());
  }
  // Reads one of these words, and takes its meaning.
  template <typename Meaning>
  void ReadWord(std::string_view flag, const FlagText& text,
                std::initializer_list<std::pair<std::string_view, Meaning>> words, Meaning* value) {
    std::vector<std::string_view> known;
    for (const auto& [word, meaning] : words) {
      if (text == word) *value = meaning;
      known.push_back(word);
    }
    CheckWord(flag, text, known);
  }
  // Reads a whole number from `min` to `max`.
  template <typename Number>
  void Read(std::string_view flag, const FlagText& text, std::uint64_t min, std::uint64_t max,
            Number* value) {
    std::uint64_t number = 0;
    if (ReadNumber(flag, text, min, max, &number)) *value = static_cast<Number>(number);
  }

  // Reads a number of bytes above zero: 1000, 64KiB, 64MiB, 1GiB.
  void ReadSize(std::string_view flag, const FlagText& text, std::uint64_t max,
                std::uint64_t* value);

  // Whether the user gave the flag, such as "--max".
  bool given(std::string_view flag) const { return given_.contains(flag); }
  void SetGiven(const std::string& flag) { given_.insert(flag); }

  // Splits NAME=VALUE, whose form `form` describes. Returns nullopt, with a complaint, for any
  // other text.
  std::optional<std::pair<std::string, std::string>> SplitPair(std::string_view flag,
                                                               const std::string& text,
                                                               const char* form = "NAME=VALUE");

  // Complains unless the flag is given: "--queue is required: " and the hint.
  void Require(std::string_view flag, std::string_view hint);
  // Complains if both are given: "--base cannot be combined with --delays". `why` may be empty.
  // Returns whether the two can be combined.
  bool RefuseTogether(std::string_view flag, std::string_view other, std::string_view why = "");
  // Complains if `flag` is given; `other` describes the value of another flag that excludes it,
  // such as "--backoff fixed". Returns whether it is not given.
  bool Refuse(std::string_view flag, std::string_view other, std::string_view why = "");
  // Complains if `flag` is given although its condition does not hold: "--outage requires
  // --queue-type quorum". Returns whether that is not so.
  bool RequireFor(std::string_view flag, bool condition, std::string_view condition_text);

  void Complain(std::string what) { complaints_.push_back(std::move(what)); }
  // Adds the library's errors about its options, if any.
  void Complain(const absl::Status& status);

  // Returns ok, or kInvalidArgument with all errors, one per line.
  absl::Status status() const;

 private:
  void CheckWord(std::string_view flag, const FlagText& text,
                 const std::vector<std::string_view>& known);
  bool ReadNumber(std::string_view flag, const FlagText& text, std::uint64_t min, std::uint64_t max,
                  std::uint64_t* value);

  std::set<std::string, std::less<>> given_;
  std::vector<std::string> complaints_;
};

using Arguments = std::vector<std::string>;

// A flag as the help shows it, for completions and documentation.
struct FlagDescription {
  std::vector<std::string> names;  // "-h", "--help"; empty for a positional argument
  std::string value;               // "QUEUE", "park|reject|discard"; empty: takes none
  std::string help;                // its help, on one line
  bool repeats = false;
};

// The possible words of a value: all of "park|reject|discard"; of "PART|full" only "full", as
// capitals are a placeholder.
std::vector<std::string> ChoicesOf(const FlagDescription& flag);

// Returns whether the value is the name of a file.
bool TakesAFile(const FlagDescription& flag);

// The text that --help or --version prints.
struct Answer {
  std::string text;
  std::vector<FlagDescription> flags = {};  // all flags, with kDescribeFlags
};

// What each subcommand makes of its arguments and of the RETRYQ_ variables: its options, or a text
// to print. kInvalidArgument with all errors, one per line, each with the flag and the remedy.
template <typename Options>
using Parsed = absl::StatusOr<std::variant<Options, Answer>>;

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
  // Adds `--name VALUE`. ParseInto converts the text and assigns it to `*target`, of any type that
  // FlagReader::Read takes; without the flag, `*target` keeps its value.
  template <typename Target>
  void Add(const std::string& flag, const std::string& value, Target* target,
           const std::string& help) {
    Add(
        flag, value,
        [flag, target](const std::string& text, FlagReader& reader) {
          reader.Read(flag, text, target);
        },
        help);
  }
  // Adds a whole number from `min` to `max`.
  template <typename Number>
  void AddNumber(const std::string& flag, std::uint64_t min, std::uint64_t max, Number* target,
                 const std::string& help) {
    Add(
        flag, "NUMBER",
        [flag, min, max, target](const std::string& text, FlagReader& reader) {
          reader.Read(flag, text, min, max, target);
        },
        help);
  }
  // Adds a number of bytes, such as 64KiB, up to `max`.
  void AddSize(const std::string& flag, std::uint64_t max, std::uint64_t* target,
               const std::string& help);
  // Adds `--name VALUE`. ParseInto calls `convert` with the text, if the flag is given.
  using Conversion = std::function<void(const std::string& text, FlagReader& reader)>;
  void Add(const std::string& flag, const std::string& value, Conversion convert,
           const std::string& help);

  // Adds a step that ParseInto calls once all flags are converted, to check values together. Steps
  // are called in the order of these calls.
  void Check(std::function<void(FlagReader& reader)> check);
  // Adds a step between the conversion of the flags and the checks, for values that several flags
  // or the environment determine.
  void Resolve(std::function<void(FlagReader& reader)> resolve);
  // Adds a positional argument; at most one.
  void AddPositional(const std::string& name, FlagText* text, const std::string& help);

  // Parses the arguments. Returns the help if it was requested. Reports unexpected arguments to
  // `reader`; returns kInvalidArgument if the arguments cannot be parsed at all.
  absl::StatusOr<std::optional<Answer>> Parse(const Arguments& arguments, FlagReader& reader);

  // Parses the arguments, converts the values of the flags, runs the checks, and calls `read`,
  // which returns the options and may report further errors.
  template <typename Read, typename Options = std::invoke_result_t<Read, FlagReader&>>
  Parsed<Options> ParseInto(const Arguments& arguments, const Read& read) {
    FlagReader reader;
    const absl::StatusOr<std::optional<Answer>> answer = Parse(arguments, reader);
    if (!answer.ok()) return answer.status();
    if (answer->has_value()) return **answer;
    Convert(reader);
    Options options = read(reader);
    if (absl::Status status = reader.status(); !status.ok()) return status;
    return options;
  }

 private:
  // Runs the conversions, the steps of Resolve and the checks.
  void Convert(FlagReader& reader);

  // Keeps CLI11 out of this header, as it takes seconds to compile.
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// A subcommand with commands, such as `retryq parked list`, as it is called without one.
struct OwnCommands {
  std::string who;                 // "retryq parked"
  std::vector<std::string> names;  // "list", "show", …
  std::string description;
  std::string footer;  // end of its help
};

// Handles arguments that begin with none of these commands. Returns the help or the reply to
// kDescribeFlags; for anything else kInvalidArgument with a list of the commands.
absl::StatusOr<Answer> ParseWithoutCommand(const OwnCommands& own, const Arguments& arguments);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_FLAGS_FLAG_PARSER_H_
