#ifndef RETRYQ_CLI_FLAGS_FLAG_PARSER_H_
#define RETRYQ_CLI_FLAGS_FLAG_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/name_size.h"
#include "base/utf8.h"
#include "retryq/delay_queue_options.h"
#include "retryq/duration.h"

namespace retryq::cli {

// Translates an error of the library about its option structs into the names of flags; one line per
// field.
absl::Status InWordsOfFlags(const absl::Status& status);

// Each Convert reads the text of a flag. Returns what is wrong with it, if anything, and then keeps
// the value.
std::string Convert(const std::string& text, absl::Duration* value);
std::string Convert(const std::string& text, double* value);
// Durations separated by commas.
std::string Convert(const std::string& text, std::vector<Duration>* values);
std::string Convert(const std::string& text, QueueType* value);
// Any text but an empty one.
std::string Convert(const std::string& text, std::string* value);
template <typename Value>
std::string Convert(const std::string& text, std::optional<Value>* value) {
  Value given{};
  std::string wrong = Convert(text, &given);
  if (wrong.empty()) *value = std::move(given);
  return wrong;
}
// A whole number from `min` to `max`.
std::string ConvertNumber(const std::string& text, std::uint64_t min, std::uint64_t max,
                          std::uint64_t* value);

// The words that a flag takes, and their meanings.
template <typename Meaning>
using Meanings = std::vector<std::pair<std::string_view, Meaning>>;

// Collects all errors about flags, so that the user sees them at once.
class FlagReader {
 public:
  // Complains about the text of a flag, unless `wrong` is empty.
  void Refuse(std::string_view flag, std::string_view text, const std::string& wrong);

  // Whether the user gave the flag, such as "--max".
  bool given(std::string_view flag) const { return given_.contains(flag); }
  void SetGiven(const std::string& flag) { given_.insert(flag); }

  // Splits NAME=VALUE. Any other text is an error that contains `form`.
  std::optional<std::pair<std::string, std::string>> SplitPair(std::string_view flag,
                                                               const std::string& text,
                                                               const char* form = "NAME=VALUE");

  // These report errors; the last three return whether there is none.
  //
  // "--queue is required: " and the hint.
  void Require(std::string_view flag, std::string_view hint);
  // Both are given: "--base cannot be combined with --delays". `why` may be empty.
  bool RefuseTogether(std::string_view flag, std::string_view other, std::string_view why = "");
  // `flag` is given; `other` is another one with the value that excludes it: "--backoff fixed".
  bool RefuseBeside(std::string_view flag, std::string_view other, std::string_view why = "");
  // `flag` is given, but its condition is false: "--outage requires --queue-type quorum".
  bool RequireFor(std::string_view flag, bool condition, std::string_view condition_text);

  void Complain(std::string what) { complaints_.push_back(std::move(what)); }
  // Adds the library's errors about its options, if any.
  void Complain(const absl::Status& status);

  // Returns ok, or kInvalidArgument with all errors, one per line.
  absl::Status status() const;

 private:
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

// The text that --help or --version prints.
struct Answer {
  std::string text;
  std::vector<FlagDescription> flags = {};  // all flags, with kDescribeFlags
};

// The options of a subcommand from its arguments and the RETRYQ_ variables, or a text to print.
// kInvalidArgument with all errors, one per line, each with the flag and the remedy.
template <typename Options>
using Parsed = absl::StatusOr<std::variant<Options, Answer>>;

// As the only argument, requests a description of all flags, before any other check.
inline constexpr char kDescribeFlags[] = "--describe-flags";

// The help of a subcommand before and after its flags.
struct HelpText {
  std::string_view description;
  std::string_view usage;  // after "Usage: "
  std::string_view footer;
};

// The flags of one subcommand, parsed with CLI11. It only splits the arguments into texts, which
// ParseInto converts to values. A value whose flag is missing or wrong keeps its default.
class FlagParser {
 public:
  explicit FlagParser(const HelpText& help);
  FlagParser(const FlagParser&) = delete;
  FlagParser& operator=(const FlagParser&) = delete;
  ~FlagParser();

  // Begins a group of flags in the help.
  void Group(const std::string& name);

  // Adds `--name VALUE`. `convert` receives the text, and returns what is wrong with it like
  // Convert. `value` is a list of the possible words, such as "classic|quorum", or FILE for a file.
  using Conversion = std::function<std::string(const std::string& text)>;
  void Add(const std::string& flag, const std::string& value, Conversion convert,
           const std::string& help);
  // Adds `--name VALUE` for a value of any type that Convert takes.
  template <typename Target>
  void Add(const std::string& flag, const std::string& value, Target* target,
           const std::string& help) {
    const auto convert = [target](const std::string& text) { return Convert(text, target); };
    Add(flag, value, Conversion(convert), help);
  }
  // Adds a repeatable `--name VALUE`, of any text.
  void Add(const std::string& flag, const std::string& value, std::vector<std::string>* texts,
           const std::string& help);
  // Adds a repeatable `--name VALUE`. All flags that are added with this method call `take` in the
  // order in which they are given.
  void AddInOrder(const std::string& flag, const std::string& value,
                  std::function<void(const std::string& given)> take, const std::string& help);
  // Adds `--name`.
  void Add(const std::string& flag, bool* set, const std::string& help);
  // Adds a whole number from `min` to `max`.
  template <typename Number>
  void AddNumber(const std::string& flag, std::uint64_t min, std::uint64_t max, Number* target,
                 const std::string& help) {
    const auto convert = [min, max, target](const std::string& text) {
      std::uint64_t number = 0;
      std::string wrong = ConvertNumber(text, min, max, &number);
      if (wrong.empty()) *target = static_cast<Number>(number);
      return wrong;
    };
    Add(flag, "NUMBER", Conversion(convert), help);
  }
  // Adds a number of bytes above zero, such as 1000, 64KiB, 64MiB or 1GiB, up to `max`.
  void AddSize(const std::string& flag, std::uint64_t max, std::uint64_t* target,
               const std::string& help);
  // Adds a flag that takes one of these words, which are shown in the help unless `value` is.
  template <typename Meaning>
  void AddWord(const std::string& flag, const Meanings<Meaning>& words, Meaning* target,
               const std::string& help, std::string value = "") {
    std::vector<std::string> known;
    for (const auto& [word, meaning] : words) known.emplace_back(word);
    const auto take = [words, target](std::size_t index) { *target = words[index].second; };
    AddOneOf(flag, known, take, help, std::move(value));
  }
  // Adds the name of an object of the broker, or another text that AMQP limits to 255 bytes. The
  // name of a QUEUE or an EXCHANGE must be UTF-8, because RabbitMQ has no others (F75).
  template <typename Target>
  void AddName(const std::string& flag, const std::string& value, Target* target,
               const std::string& help, bool may_be_empty = false) {
    const bool is_utf8 = value == "QUEUE" || value == "EXCHANGE";
    const auto convert = [target, may_be_empty, is_utf8](const std::string& text) -> std::string {
      if (text.size() > kMaxNameSize) return "is longer than 255 bytes";
      if (is_utf8 && !IsUtf8(text)) return "is not UTF-8";
      if (!text.empty() || !may_be_empty) return Convert(text, target);
      *target = "";
      return "";
    };
    Add(flag, value, Conversion(convert), help);
  }

  // Adds a step that ParseInto calls, in the order of these calls, once all flags are converted.
  void Check(std::function<void(FlagReader& reader)> check);
  // Adds a step between the conversion of the flags and the checks, for values that several flags
  // or the environment determine.
  void Resolve(std::function<void(FlagReader& reader)> resolve);
  // Adds a positional argument; at most one.
  void AddPositional(const std::string& name, std::optional<std::string>* text,
                     const std::string& help);

  // Returns the help if it was requested. Reports unexpected arguments to `reader`; returns
  // kInvalidArgument if the arguments cannot be parsed at all.
  absl::StatusOr<std::optional<Answer>> Parse(const Arguments& arguments, FlagReader& reader);

  // Returns the options, which the conversions of the flags and the checks have set.
  template <typename Options>
  Parsed<Options> ParseInto(const Arguments& arguments, const Options& options) {
    FlagReader reader;
    const absl::StatusOr<std::optional<Answer>> answer = Parse(arguments, reader);
    if (!answer.ok()) return answer.status();
    if (answer->has_value()) return **answer;
    RunSteps(reader);
    if (absl::Status status = reader.status(); !status.ok()) return status;
    return options;
  }

 private:
  // Adds a flag that takes one of these words; `take` receives its index.
  void AddOneOf(const std::string& flag, const std::vector<std::string>& words,
                std::function<void(std::size_t index)> take, const std::string& help,
                std::string value);
  // Runs the conversions, the steps of Resolve and the checks.
  void RunSteps(FlagReader& reader);

  // Keeps CLI11 out of this header, because it takes seconds to compile.
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_FLAGS_FLAG_PARSER_H_
