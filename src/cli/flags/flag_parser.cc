#include "cli/flags/flag_parser.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "cli/text/duration.h"

namespace retryq::cli {
namespace {

std::string Refusal(std::string_view flag, const std::string& text,
                    std::string_view what_it_takes) {
  return std::string(flag).append(" '").append(text).append("': ").append(what_it_takes);
}

// The library names fields of its option structs, but the user knows flags.
std::string ComplaintInWordsOfFlags(std::string complaint) {
  constexpr std::pair<std::string_view, std::string_view> kFlags[] = {
      {"retry.backoff.base", "--base"},
      {"retry.backoff.delays", "--delays"},
      {"retry.backoff.factor", "--factor"},
      {"retry.backoff.max", "--max"},
      {"retry.backoff.jitter", "--jitter"},
      {"retry.max_attempts", "--max-attempts"},
      {"retry.max_age", "--max-age"},
      {"retry.earlier_counts", "--earlier-count"},
      {"breaker.calls", "--breaker-calls"},
      {"breaker.ratio", "--breaker-ratio"},
      {"breaker.pause", "--breaker-pause"},
      {"breaker.probes", "--breaker-probes"},
      {"delay_queues.prefix", "--prefix"},
      {"delay_queues.margin", "--margin"},
      {"delay_queues.max_delay_queues", "--max-delay-queues"},
      {"delay_queues.outage", "--outage"},
      {"delay_queues.max_length_bytes", "--max-length-bytes"},
      {"delay_queues.max_length", "--max-length"},
      {"former_queues", "--former-queue"},
      {"consumer_timeout", "--consumer-timeout"},
      {"max_body", "--max-body"},
      {"work_exchange", "--work-exchange"},
      {"parked_queue", "--parked"},
      {"queue", "--queue"},
  };
  for (const auto& [field, flag] : kFlags) {
    if (complaint.starts_with(field)) return complaint.replace(0, field.size(), flag);
  }
  return complaint;
}

constexpr std::size_t kHelpColumn = 30;
constexpr std::size_t kHelpWidth = 100;

// Breaks the lines of a flag's help, so that none is longer than kHelpWidth behind kHelpColumn.
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

  // Texts are wrapped here and not where they are written.
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

// The beginning of a help, without defaults and further sentences.
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

Answer DescriptionOf(const CLI::App& app) {
  Answer answer;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // hidden
    FlagDescription flag = Description(*option);
    answer.text +=
        absl::StrCat(absl::StrJoin(flag.names, ","), "\t", flag.value, "\t", flag.help, "\n");
    answer.flags.push_back(std::move(flag));
  }
  return answer;
}

}  // namespace

absl::Status InWordsOfFlags(const absl::Status& status) {
  std::vector<std::string> complaints = absl::StrSplit(std::string(status.message()), "; ");
  for (std::string& complaint : complaints) {
    complaint = ComplaintInWordsOfFlags(std::move(complaint));
  }
  return {status.code(), absl::StrJoin(complaints, "\n")};
}

void FlagReader::CheckWord(std::string_view flag, const FlagText& text,
                           const std::vector<std::string_view>& known) {
  if (!text || std::find(known.begin(), known.end(), *text) != known.end()) return;
  std::string words;
  for (const std::string_view& word : known) {
    words.append(&word == &known.front() ? "" : &word == &known.back() ? " or " : ", ");
    words.append(word);
  }
  Complain(Refusal(flag, *text, "write " + words));
}

void FlagReader::Read(std::string_view flag, const FlagText& text, absl::Duration* value) {
  if (!text) return;
  if (const std::optional<absl::Duration> duration = ParseDuration(*text)) {
    *value = *duration;
  } else {
    Complain(Refusal(flag, *text, "write a duration such as 500ms, 30s, 10m, 1h30m or 1d"));
  }
}

void FlagReader::Read(std::string_view flag, const FlagText& text, std::vector<Duration>* values) {
  if (!text) return;
  std::vector<Duration> read;
  for (const absl::string_view part : absl::StrSplit(*text, ',')) {
    const std::optional<absl::Duration> duration = ParseDuration({part.data(), part.size()});
    if (!duration) {
      Complain(Refusal(flag, *text, "write durations with commas between them, such as 1s,10s,5m"));
      return;
    }
    read.push_back(*duration);
  }
  *values = std::move(read);
}

void FlagReader::Read(std::string_view flag, const FlagText& text, double* value) {
  if (!text) return;
  double number = 0;
  if (absl::SimpleAtod(*text, &number) && std::isfinite(number)) {
    *value = number;
  } else {
    Complain(Refusal(flag, *text, "write a number such as 2 or 1.5"));
  }
}

void FlagReader::Read(std::string_view flag, const FlagText& text, OnLimit* value) {
  ReadWord(flag, text,
           {{"park", OnLimit::kPark}, {"reject", OnLimit::kReject}, {"discard", OnLimit::kDiscard}},
           value);
}

void FlagReader::Read(std::string_view flag, const FlagText& text, QueueType* value) {
  ReadWord(flag, text, {{"classic", QueueType::kClassic}, {"quorum", QueueType::kQuorum}}, value);
}

void FlagReader::Read(std::string_view flag, const FlagText& text, CountRedeliveries* value) {
  ReadWord(flag, text,
           {{"counted", CountRedeliveries::kWhereCounted},
            {"always", CountRedeliveries::kAlways},
            {"never", CountRedeliveries::kNever}},
           value);
}

void FlagReader::Read(std::string_view flag, const FlagText& text, Severity* value) {
  ReadWord(flag, text,
           {{"debug", Severity::kDebug},
            {"info", Severity::kInfo},
            {"warning", Severity::kWarning},
            {"error", Severity::kError}},
           value);
}

void FlagReader::Read(std::string_view flag, const FlagText& text, std::string* value) {
  if (!text) return;
  if (text->empty()) {
    Complain(std::string(flag).append(" '': must not be empty; leave it out for the default"));
  } else {
    *value = *text;
  }
}

bool FlagReader::ReadNumber(std::string_view flag, const FlagText& text, std::uint64_t min,
                            std::uint64_t max, std::uint64_t* value) {
  if (!text) return false;
  const char* const end = text->data() + text->size();
  const auto [stopped, error] = std::from_chars(text->data(), end, *value);
  const bool is_number = error == std::errc() && stopped == end && !text->empty();
  if (is_number && *value >= min && *value <= max) return true;
  Complain(Refusal(flag, *text, absl::StrCat("write a whole number from ", min, " to ", max)));
  return false;
}

void FlagReader::ReadSize(std::string_view flag, const FlagText& text, std::uint64_t max,
                          std::uint64_t* value) {
  if (!text) return;
  constexpr std::pair<std::string_view, int> kUnits[] = {
      {"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"", 0}};
  for (const auto& [unit, shift] : kUnits) {
    std::uint64_t number = 0;
    const char* const end = text->data() + text->size() - std::min(text->size(), unit.size());
    if (!text->ends_with(unit)) continue;
    const auto [stopped, error] = std::from_chars(text->data(), end, number);
    if (error != std::errc() || stopped != end || number == 0 || number > max >> shift) break;
    *value = number << shift;
    return;
  }
  Complain(Refusal(flag, *text,
                   absl::StrCat("write a number of bytes above 0, such as 1000, 64KiB or 64MiB, "
                                "and at most ",
                                max >> 20, "MiB")));
}

std::optional<std::pair<std::string, std::string>> FlagReader::SplitPair(std::string_view flag,
                                                                         const std::string& text,
                                                                         const char* form) {
  const std::size_t equals = text.find('=');
  if (equals != std::string::npos && equals > 0) {
    return std::pair(text.substr(0, equals), text.substr(equals + 1));
  }
  Complain(Refusal(flag, text, absl::StrCat("write ", form)));
  return std::nullopt;
}

void FlagReader::Require(std::string_view flag, std::string_view hint) {
  if (!given(flag)) Complain(std::string(flag).append(" is required: ").append(hint));
}

bool FlagReader::RefuseTogether(std::string_view flag, std::string_view other,
                                std::string_view why) {
  return !given(other) || Refuse(flag, other, why);
}

bool FlagReader::Refuse(std::string_view flag, std::string_view other, std::string_view why) {
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

FlagParser::FlagParser(FlagParser&&) noexcept = default;
FlagParser& FlagParser::operator=(FlagParser&&) noexcept = default;
FlagParser::~FlagParser() = default;

void FlagParser::Group(const std::string& name) { impl_->group = name; }

void FlagParser::Add(const std::string& flag, const std::string& value, FlagText* text,
                     const std::string& help) {
  impl_->app
      .add_option_function<std::string>(
          flag, [text](const std::string& given) { *text = given; }, help)
      ->take_last()
      ->option_text(value)
      ->group(impl_->group);
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

void FlagParser::AddPositional(const std::string& name, FlagText* text, const std::string& help) {
  impl_->app.add_option_function<std::string>(
      name, [text](const std::string& given) { *text = given; }, help);
}

void FlagParser::Add(const std::string& flag, const std::string& value, Conversion convert,
                     const std::string& help) {
  const auto text = std::make_shared<FlagText>();
  Add(flag, value, text.get(), help);
  impl_->conversions.push_back([text, convert = std::move(convert)](FlagReader& reader) {
    if (*text) convert(**text, reader);
  });
}

void FlagParser::AddSize(const std::string& flag, std::uint64_t max, std::uint64_t* target,
                         const std::string& help) {
  Add(
      flag, "BYTES",
      [flag, max, target](const std::string& text, FlagReader& reader) {
        reader.ReadSize(flag, text, max, target);
      },
      help);
}

void FlagParser::Check(std::function<void(FlagReader& reader)> check) {
  impl_->checks.push_back(std::move(check));
}

void FlagParser::Resolve(std::function<void(FlagReader& reader)> resolve) {
  impl_->resolutions.push_back(std::move(resolve));
}

void FlagParser::Convert(FlagReader& reader) {
  for (const auto* steps : {&impl_->conversions, &impl_->resolutions, &impl_->checks}) {
    for (const Impl::Step& step : *steps) step(reader);
  }
}

absl::StatusOr<std::optional<Answer>> FlagParser::Parse(const Arguments& arguments,
                                                        FlagReader& reader) {
  CLI::App& app = impl_->app;
  app.set_help_flag("-h,--help", "Print this and exit")->group("Help");  // the last group
  if (arguments == Arguments{kDescribeFlags}) return DescriptionOf(app);
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

std::vector<std::string> ChoicesOf(const FlagDescription& flag) {
  std::vector<std::string> words = absl::StrSplit(flag.value, '|', absl::SkipEmpty());
  std::erase_if(words, [](const std::string& word) {
    return std::any_of(word.begin(), word.end(), absl::ascii_isupper);
  });
  return words;
}

bool TakesAFile(const FlagDescription& flag) { return flag.value == "FILE"; }

absl::StatusOr<Answer> ParseWithoutCommand(const OwnCommands& own, const Arguments& arguments) {
  const bool asks_for_flags = arguments == Arguments{kDescribeFlags};
  const bool asks_for_help =
      !arguments.empty() && (arguments.front() == "-h" || arguments.front() == "--help");
  if (!asks_for_flags && !asks_for_help) {
    const bool is_missing = arguments.empty() || arguments.front().starts_with('-');
    return absl::InvalidArgumentError(
        absl::StrCat(is_missing ? std::string("a command is missing")
                                : absl::StrCat("unknown command \"", arguments.front(), "\""),
                     "; commands: ", absl::StrJoin(own.names, ", "), "; see ", own.who, " --help"));
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
