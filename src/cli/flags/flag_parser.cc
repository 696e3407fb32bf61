#include "cli/flags/flag_parser.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/escaped_text.h"
#include "cli/text/duration.h"

namespace retryq::cli {
namespace {

// The library names fields of its option structs, but the user knows flags.
std::string ComplaintInWordsOfFlags(std::string complaint) {
  using Names = std::pair<std::string_view, std::string_view>;
  for (const auto& [field, flag] : {Names{"retry.earlier_counts", "--earlier-count"},
                                    {"former_queues", "--former-queue"},
                                    {"consumer_timeout", "--consumer-timeout"},
                                    {"max_body", "--max-body"},
                                    {"work_exchange", "--work-exchange"},
                                    {"parked_queue", "--parked"},
                                    {"queue", "--queue"}}) {
    if (complaint.starts_with(field)) return complaint.replace(0, field.size(), flag);
  }
  for (const auto& [group, prefix] : {Names{"retry.backoff.", ""},
                                      {"retry.", ""},
                                      {"breaker.", "breaker-"},
                                      {"delay_queues.", ""}}) {
    if (!complaint.starts_with(group)) continue;
    std::replace(complaint.begin(), std::find(complaint.begin(), complaint.end(), ' '), '_', '-');
    return complaint.replace(0, group.size(), std::string("--").append(prefix));
  }
  return complaint;
}

constexpr std::size_t kHelpColumn = 30;
constexpr std::size_t kHelpWidth = 100;

// Breaks the help of a flag into lines that begin in column kHelpColumn and end before kHelpWidth.
std::string Wrapped(const std::string& help) {
  std::string text;
  std::size_t column = kHelpColumn;
  for (const absl::string_view word : absl::StrSplit(help, absl::ByAnyChar(" \n"))) {
    const bool is_first = text.empty();
    const bool fits = column + 1 + word.size() <= kHelpWidth;
    absl::StrAppend(&text, is_first ? "" : fits ? " " : "\n", word);
    column = (is_first || fits ? column + !is_first : kHelpColumn) + word.size();
  }
  return text;
}

class HelpFormatter : public CLI::Formatter {
 public:
  explicit HelpFormatter(std::string usage) : usage_(std::move(usage)) {
    column_width(kHelpColumn);
    label("Positionals", "Arguments");
  }

  std::string make_usage(const CLI::App*, std::string) const override {
    return "\nUsage: " + usage_ + "\n\n";
  }

  // Omits the duplicate blank lines of the base class.
  std::string make_group(std::string group, bool positional,
                         std::vector<const CLI::Option*> options) const override {
    std::string text = group + ":\n";
    for (const CLI::Option* option : options) text += make_option(option, positional);
    return positional ? text + "\n" : text;
  }

  // Wraps the texts here, so that they need no line breaks where they are written.
  std::string make_option_desc(const CLI::Option* option) const override {
    return Wrapped(option->get_description());
  }

  // Prints only the name of the value, without its type.
  std::string make_option_opts(const CLI::Option* option) const override {
    return option->get_option_text().empty() ? "" : " " + option->get_option_text();
  }

 private:
  const std::string usage_;
};

// The flag of an argument without the part after '=', which may be a secret.
std::string FlagOf(const std::string& argument) { return argument.substr(0, argument.find('=')); }

bool IsFlag(const std::string& argument) { return argument.size() > 1 && argument.front() == '-'; }

// Only flags with one value take the last of several.
bool IsGivenTooOften(const CLI::Option* option) {
  return option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeLast &&
         option->count() > 1;
}

// The first sentence of a flag's help, without the default.
std::string Summary(const std::string& help) {
  std::string summary = absl::StrReplaceAll(help, {{"\n", " "}});
  for (const char* end : {". ", "; ", " ("}) summary = summary.substr(0, summary.find(end));
  return summary;
}

FlagDescription Description(const CLI::Option& option) {
  FlagDescription flag{.value = option.get_option_text()};
  for (const std::string& name : option.get_snames()) flag.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) flag.names.push_back("--" + name);
  if (flag.names.empty()) flag.value = option.get_name(true);
  flag.help = Summary(option.get_description());
  flag.repeats = option.get_items_expected_max() > 1;
  return flag;
}

void ComplainAboutExtras(Arguments extras, FlagReader& reader) {
  std::erase(extras, "--");  // which only marks the end of the flags
  const bool unknown_flag = std::any_of(extras.begin(), extras.end(), IsFlag);
  for (const std::string& extra : extras) {
    if (IsFlag(extra)) {
      reader.Complain(FlagOf(extra) + ": there is no such flag; see --help");
    } else if (!unknown_flag) {  // otherwise it may be the value of that flag
      // A URL may contain a password.
      const bool tellable = extra.find("://") == std::string::npos;
      reader.Complain((tellable ? "'" + extra + "'" : "a URL without --url") +
                      ": unexpected here; see --help");
    }
  }
}

}  // namespace

absl::Status InWordsOfFlags(const absl::Status& status) {
  std::vector<std::string> complaints = absl::StrSplit(std::string(status.message()), "; ");
  for (std::string& complaint : complaints) {
    complaint = ComplaintInWordsOfFlags(std::move(complaint));
  }
  return {status.code(), absl::StrJoin(complaints, "\n")};
}

std::string Convert(const std::string& text, absl::Duration* value) {
  const std::optional<absl::Duration> duration = ParseDuration(text);
  if (!duration) return "write a duration such as 500ms, 30s, 10m, 1h30m or 1d";
  *value = *duration;
  return "";
}

std::string Convert(const std::string& text, std::vector<Duration>* values) {
  std::vector<Duration> read;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::optional<absl::Duration> duration = ParseDuration({part.data(), part.size()});
    if (!duration) return "write durations with commas between them, such as 1s,10s,5m";
    read.push_back(*duration);
  }
  *values = std::move(read);
  return "";
}

std::string Convert(const std::string& text, double* value) {
  double number = 0;
  if (!absl::SimpleAtod(text, &number) || !std::isfinite(number)) {
    return "write a number such as 2 or 1.5";
  }
  *value = number;
  return "";
}

std::string Convert(const std::string& text, QueueType* value) {
  if (text != "classic" && text != "quorum") return "write classic or quorum";
  *value = text == "quorum" ? QueueType::kQuorum : QueueType::kClassic;
  return "";
}

std::string Convert(const std::string& text, std::string* value) {
  if (text.empty()) return "must not be empty; leave it out for the default";
  *value = text;
  return "";
}

std::string ConvertNumber(const std::string& text, std::uint64_t min, std::uint64_t max,
                          std::uint64_t* value) {
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, *value);
  const bool is_number = error == std::errc() && stopped == end && !text.empty();
  if (is_number && *value >= min && *value <= max) return "";
  return absl::StrCat("write a whole number from ", min, " to ", max);
}

void FlagReader::Refuse(std::string_view flag, std::string_view text, const std::string& wrong) {
  constexpr std::size_t kShown = 100;
  if (wrong.empty()) return;
  Complain(absl::StrCat(std::string(flag), " '", Printable(text, kShown), "': ", wrong));
}

std::optional<std::pair<std::string, std::string>> FlagReader::SplitPair(std::string_view flag,
                                                                         const std::string& text,
                                                                         const char* form) {
  const std::size_t equals = text.find('=');
  if (equals != std::string::npos && equals > 0) {
    return std::pair(text.substr(0, equals), text.substr(equals + 1));
  }
  Refuse(flag, text, absl::StrCat("write ", form));
  return std::nullopt;
}

void FlagReader::Require(std::string_view flag, std::string_view hint) {
  if (!given(flag)) Complain(std::string(flag).append(" is required: ").append(hint));
}

bool FlagReader::RefuseTogether(std::string_view flag, std::string_view other,
                                std::string_view why) {
  return !given(other) || RefuseBeside(flag, other, why);
}

bool FlagReader::RefuseBeside(std::string_view flag, std::string_view other, std::string_view why) {
  if (!given(flag)) return true;
  std::string complaint = std::string(flag).append(" cannot be combined with ").append(other);
  if (!why.empty()) complaint.append(", ").append(why);
  Complain(std::move(complaint));
  return false;
}

bool FlagReader::RequireFor(std::string_view flag, bool condition,
                            std::string_view condition_text) {
  if (!given(flag) || condition) return true;
  Complain(std::string(flag).append(" requires ").append(condition_text));
  return false;
}

void FlagReader::Complain(const absl::Status& status) {
  if (!status.ok()) Complain(std::string(InWordsOfFlags(status).message()));
}

absl::Status FlagReader::status() const {
  if (complaints_.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(complaints_, "\n"));
}

struct FlagParser::Impl {
  explicit Impl(std::string_view description) : app(std::string(description)) {}

  using Step = std::function<void(FlagReader&)>;

  CLI::App app;
  std::string group = "Options";
  std::vector<Step> conversions, resolutions, checks;
};

FlagParser::FlagParser(const HelpText& help) : impl_(std::make_unique<Impl>(help.description)) {
  impl_->app.formatter(std::make_shared<HelpFormatter>(std::string(help.usage)));
  impl_->app.footer(std::string(help.footer));
  impl_->app.set_help_flag();
  impl_->app.allow_extras();
}

FlagParser::~FlagParser() = default;

void FlagParser::Group(const std::string& name) { impl_->group = name; }

void FlagParser::Add(const std::string& flag, const std::string& value, Conversion convert,
                     const std::string& help) {
  const auto text = std::make_shared<std::optional<std::string>>();
  impl_->app
      .add_option_function<std::string>(
          flag, [text](const std::string& given) { *text = given; }, help)
      ->take_last()
      ->option_text(value)
      ->group(impl_->group);
  impl_->conversions.push_back([flag, text, convert = std::move(convert)](FlagReader& reader) {
    if (*text) reader.Refuse(flag, **text, convert(**text));
  });
}

void FlagParser::Add(const std::string& flag, const std::string& value,
                     std::vector<std::string>* texts, const std::string& help) {
  impl_->app.add_option(flag, *texts, help)
      ->allow_extra_args(false)
      ->option_text(value)
      ->group(impl_->group);
}

void FlagParser::AddInOrder(const std::string& flag, const std::string& value,
                            std::function<void(const std::string& given)> take,
                            const std::string& help) {
  impl_->app
      .add_option_function<std::vector<std::string>>(
          flag,
          [take = std::move(take)](const std::vector<std::string>& given) {
            for (const std::string& one : given) take(one);
          },
          help)
      ->allow_extra_args(false)
      ->trigger_on_parse()
      ->option_text(value)
      ->group(impl_->group);
}

void FlagParser::Add(const std::string& flag, bool* set, const std::string& help) {
  impl_->app.add_flag(flag, *set, help)->group(impl_->group);
}

void FlagParser::AddPositional(const std::string& name, std::optional<std::string>* text,
                               const std::string& help) {
  impl_->app.add_option_function<std::string>(
      name, [text](const std::string& given) { *text = given; }, help);
}

void FlagParser::AddSize(const std::string& flag, std::uint64_t max, std::uint64_t* target,
                         const std::string& help) {
  const auto convert = [max, target](const std::string& text) -> std::string {
    constexpr std::pair<std::string_view, int> kUnits[] = {
        {"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"", 0}};
    for (const auto& [unit, shift] : kUnits) {
      if (!text.ends_with(unit)) continue;
      std::uint64_t number = 0;
      const std::string digits = text.substr(0, text.size() - unit.size());
      if (!ConvertNumber(digits, 1, max >> shift, &number).empty()) break;
      *target = number << shift;
      return "";
    }
    return absl::StrCat(
        "write a number of bytes above 0, such as 1000, 64KiB or 64MiB, and at most ", max >> 20,
        "MiB");
  };
  Add(flag, "BYTES", Conversion(convert), help);
}

void FlagParser::AddOneOf(const std::string& flag, const std::vector<std::string>& words,
                          std::function<void(std::size_t index)> take, const std::string& help,
                          std::string value) {
  if (value.empty()) value = absl::StrJoin(words, "|");
  const auto convert = [words, take = std::move(take)](const std::string& text) -> std::string {
    const auto word = std::find(words.begin(), words.end(), text);
    if (word == words.end()) {
      return absl::StrCat("write ", absl::StrJoin(words.begin(), words.end() - 1, ", "), " or ",
                          words.back());
    }
    take(static_cast<std::size_t>(word - words.begin()));
    return "";
  };
  Add(flag, value, Conversion(convert), help);
}

void FlagParser::Check(std::function<void(FlagReader& reader)> check) {
  impl_->checks.push_back(std::move(check));
}

void FlagParser::Resolve(std::function<void(FlagReader& reader)> resolve) {
  impl_->resolutions.push_back(std::move(resolve));
}

void FlagParser::RunSteps(FlagReader& reader) {
  for (const auto* steps : {&impl_->conversions, &impl_->resolutions, &impl_->checks}) {
    for (const Impl::Step& step : *steps) step(reader);
  }
}

absl::StatusOr<std::optional<Answer>> FlagParser::Parse(const Arguments& arguments,
                                                        FlagReader& reader) {
  CLI::App& app = impl_->app;
  app.set_help_flag("-h,--help", "Print this and exit")->group("Help");  // the last group
  if (arguments == Arguments{kDescribeFlags}) {
    Answer answer;
    for (const CLI::Option* option : app.get_options()) {
      answer.flags.push_back(Description(*option));
    }
    return answer;
  }
  try {
    app.parse(Arguments(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    return Answer{app.help()};
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string what = error.what();  // "--flag: …"
    return absl::InvalidArgumentError(what.substr(0, what.find(':')) +
                                      ": needs a value; see --help");
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(error.what());
  }
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() > 0) reader.SetGiven(option->get_name());
  }
  for (const CLI::Option* option : app.get_options(IsGivenTooOften)) {
    reader.Complain(option->get_name() + ": is given more than once; give it once");
  }
  ComplainAboutExtras(app.remaining(), reader);
  return std::nullopt;
}

}  // namespace retryq::cli
