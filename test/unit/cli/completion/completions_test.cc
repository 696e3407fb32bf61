#include "cli/completion/completions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "support/temporary_directory.h"

namespace retryq::cli {
namespace completions_test {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// What a program prints for `script`, a line each, and how it ends.
struct Printed {
  std::vector<std::string> lines;
  int status = 0;
};

Printed Shout(const std::string& command) {
  Printed printed;
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  std::string text;
  std::array<char, 4096> chunk;
  for (std::size_t size = 1; size > 0;) {
    size = std::fread(chunk.data(), 1, chunk.size(), pipe);
    text.append(chunk.data(), size);
  }
  printed.status = ::pclose(pipe);
  printed.lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
  return printed;
}

bool IsInstalled(const std::string& shell) { return Shout("command -v " + shell).status == 0; }

// A flag of each kind, with all that could break a script.
const std::vector<CommandDescription> kCommands = {
    {.name = "work",
     .summary = "It's [the] work: of \"all\" $HOME `true`",
     .flags = {{.names = {"--queue"}, .value = "QUEUE", .help = "Don't [forget] it: a \\queue\\"},
               {.names = {"--type"}, .value = "classic|quorum", .help = "One of two"},
               {.names = {"--jitter"}, .value = "PART|full", .help = "A number, or full"},
               {.names = {"--svg"}, .value = "FILE", .help = "A file"},
               {.names = {"--header"}, .value = "NAME=VALUE", .help = "Some", .repeats = true},
               {.names = {"--json"}, .help = "For programs"},
               {.names = {"-h", "--help"}, .help = "Help"}}},
    {.name = "completions",
     .summary = "Scripts",
     .flags = {{.value = "bash|zsh|fish", .help = "The shell"}, {.names = {"--help"}}}},
    {.name = "parked",
     .summary = "Parked",
     .flags = {{.value = "list|drop", .help = "What to do"}, {.names = {"--help"}}},
     .commands = {{.name = "list", .flags = {{.names = {"--older"}, .value = "AGE"}}},
                  {.name = "drop",
                   .flags = {{.names = {"--yes"}}, {.names = {"--as"}, .value = "a|b"}}}}},
    {.name = "send", .summary = "Send", .flags = {{.value = "BODY", .help = "Any text"}}},
};

class BashCompletionTest : public ::testing::Test {
 protected:
  // What bash offers for the last of these words.
  std::vector<std::string> Completed(const std::vector<std::string>& words,
                                     const std::vector<CommandDescription>& commands = kCommands) {
    const std::string script = files_.Write("script", CompletionScript(Shell::kBash, commands));
    std::vector<std::string> quoted;
    for (const std::string& word : words) quoted.push_back("'" + word + "'");
    const std::string run = files_.Write(
        "run",
        absl::StrCat("set -u\ncd '", files_.File(""), "'\nsource '", script, "'\nCOMP_WORDS=(",
                     absl::StrJoin(quoted, " "), ")\nCOMP_CWORD=", words.size() - 1,
                     "\n_retryq\n"
                     "((${#COMPREPLY[@]} == 0)) || printf '%s\\n' \"${COMPREPLY[@]}\"\n"));
    const Printed printed = Shout("bash --norc --noprofile '" + run + "' 2>&1");
    EXPECT_EQ(printed.status, 0) << absl::StrJoin(printed.lines, "\n");
    return printed.lines;
  }

  testing::TemporaryDirectory files_;
};

TEST_F(BashCompletionTest, KnowsTheSubcommands) {
  EXPECT_THAT(Completed({"retryq", ""}),
              ElementsAre("work", "completions", "parked", "send", "--help", "--version"));
  EXPECT_THAT(Completed({"retryq", "w"}), ElementsAre("work"));
  EXPECT_THAT(Completed({"retryq", "x"}), IsEmpty());
}

TEST_F(BashCompletionTest, KnowsTheFlagsOfEach) {
  EXPECT_THAT(Completed({"retryq", "work", "--"}),
              UnorderedElementsAre("--queue", "--type", "--jitter", "--svg", "--header", "--json",
                                   "--help"));
  EXPECT_THAT(Completed({"retryq", "work", "--json", "--j"}),
              UnorderedElementsAre("--jitter", "--json"));
  EXPECT_THAT(Completed({"retryq", "send", "--"}), IsEmpty());
}

TEST_F(BashCompletionTest, KnowsTheWordsThatAFlagTakes) {
  EXPECT_THAT(Completed({"retryq", "work", "--type", ""}), ElementsAre("classic", "quorum"));
  EXPECT_THAT(Completed({"retryq", "work", "--type", "q"}), ElementsAre("quorum"));
  EXPECT_THAT(Completed({"retryq", "work", "--jitter", ""}), ElementsAre("full"));
  EXPECT_THAT(Completed({"retryq", "work", "--type", "="}), ElementsAre("classic", "quorum"));
  EXPECT_THAT(Completed({"retryq", "work", "--type", "=", "c"}), ElementsAre("classic"));
}

TEST_F(BashCompletionTest, OffersNothingWhereAnythingCanStand) {
  EXPECT_THAT(Completed({"retryq", "work", "--queue", ""}), IsEmpty());
  EXPECT_THAT(Completed({"retryq", "work", "--header", "--"}), IsEmpty());
}

TEST_F(BashCompletionTest, KnowsTheWordsOfAnArgumentWithoutAFlag) {
  EXPECT_THAT(Completed({"retryq", "completions", ""}),
              ElementsAre("bash", "zsh", "fish", "--help"));
}

TEST_F(BashCompletionTest, KnowsTheCommandsOfASubcommand) {
  EXPECT_THAT(Completed({"retryq", "parked", ""}), ElementsAre("list", "drop", "--help"));
  EXPECT_THAT(Completed({"retryq", "parked", "list", "-"}), ElementsAre("--older"));
  EXPECT_THAT(Completed({"retryq", "parked", "drop", "-"}), ElementsAre("--yes", "--as"));
  EXPECT_THAT(Completed({"retryq", "parked", "drop", "--yes", "--as", ""}), ElementsAre("a", "b"));
}

TEST_F(BashCompletionTest, OffersFilesWhereAFileIsMeant) {
  files_.Write("picture of it.svg", "");
  EXPECT_THAT(Completed({"retryq", "work", "--svg", "pict"}), ElementsAre("picture of it.svg"));
}

TEST_F(BashCompletionTest, BehindDashesOffersProgramsAndThenFiles) {
  files_.Write("message.txt", "");
  EXPECT_THAT(Completed({"retryq", "work", "--", "bas"}), Contains("bash"));
  EXPECT_THAT(Completed({"retryq", "work", "--", "cat", "mess"}), ElementsAre("message.txt"));
  EXPECT_THAT(Completed({"retryq", "work", "--", "cat", "--"}), IsEmpty());
}

TEST_F(BashCompletionTest, IsRegisteredForTheCommand) {
  const std::string script = files_.Write("script", CompletionScript(Shell::kBash, kCommands));
  const Printed printed =
      Shout("bash --norc --noprofile -c \"source '" + script + "'; complete -p retryq\"");
  EXPECT_THAT(printed.lines, ElementsAre("complete -F _retryq retryq"));
}

// Whether the shell takes the script for one of its own; what it says otherwise.
std::string Complaints(const std::string& shell, Shell kind) {
  const testing::TemporaryDirectory files;
  const std::string script = files.Write("script", CompletionScript(kind, kCommands));
  const Printed printed = Shout(absl::StrCat(shell, " -n '", script, "' 2>&1"));
  return printed.status == 0 ? "" : "refused: " + absl::StrJoin(printed.lines, "\n");
}

TEST(ZshCompletion, IsAScriptOfZsh) {
  if (!IsInstalled("zsh")) GTEST_SKIP() << "there is no zsh";
  EXPECT_EQ(Complaints("zsh", Shell::kZsh), "");
}

TEST(ZshCompletion, DescribesEachFlagAsArgumentsReadsIt) {
  EXPECT_THAT(
      CompletionScript(Shell::kZsh, kCommands),
      AllOf(HasSubstr("#compdef retryq\n"),
            HasSubstr("'(--queue)--queue=[Don'\\''t \\[forget\\] it\\: a \\\\queue\\\\]:QUEUE: '"),
            HasSubstr("'(--type)--type=[One of two]:classic|quorum:(classic quorum)'"),
            HasSubstr("'(--svg)--svg=[A file]:FILE:_files'"),
            HasSubstr("'*--header=[Some]:NAME=VALUE: '"),
            HasSubstr("'(--json)--json[For programs]'"), HasSubstr("'(-h --help)-h[Help]'"),
            HasSubstr("'1:bash|zsh|fish:(bash zsh fish)'")));
}

TEST(FishCompletion, IsAScriptOfFish) {
  if (!IsInstalled("fish")) GTEST_SKIP() << "there is no fish";
  EXPECT_EQ(Complaints("fish", Shell::kFish), "");
}

TEST(FishCompletion, OffersWhatFits) {
  if (!IsInstalled("fish")) GTEST_SKIP() << "there is no fish";
  const testing::TemporaryDirectory files;
  const std::string script = files.Write("script", CompletionScript(Shell::kFish, kCommands));
  const auto completed = [&](const std::string& line) {
    return Shout("HOME='" + files.File("") + "' fish -c \"source '" + script + "'; complete -C '" +
                 line + "'\" 2>&1")
        .lines;
  };
  EXPECT_THAT(completed("retryq w"), ElementsAre(HasSubstr("work\t")));
  EXPECT_THAT(completed("retryq work --que"),
              ElementsAre("--queue\tDon't [forget] it: a \\queue\\"));
  EXPECT_THAT(completed("retryq work --type q"), ElementsAre("quorum\tOne of two"));
  EXPECT_THAT(completed("retryq completions z"), ElementsAre("zsh"));
  EXPECT_THAT(completed("retryq parked d"), ElementsAre("drop"));
  EXPECT_THAT(completed("retryq parked drop --"), ElementsAre("--as", "--yes"));
}

TEST(FishCompletion, HasALineForEachFlag) {
  EXPECT_THAT(
      CompletionScript(Shell::kFish, kCommands),
      AllOf(HasSubstr("-n '__fish_seen_subcommand_from work' -l queue -x "
                      "-d 'Don\\'t [forget] it: a \\\\queue\\\\'\n"),
            HasSubstr("-l type -x -a 'classic quorum' -d 'One of two'\n"),
            HasSubstr("-l svg -r -F -d 'A file'\n"), HasSubstr("-l json -d 'For programs'\n"),
            HasSubstr("-s h -l help -d 'Help'\n"),
            HasSubstr("-n '__fish_seen_subcommand_from completions' -a 'bash zsh fish'\n")));
}

TEST(Completions, AreForOneOfThreeShells) {
  EXPECT_EQ(std::get<Shell>(*ParseCompletions({"zsh"})), Shell::kZsh);
  for (const Arguments& wrong : {Arguments{}, Arguments{"tcsh"}, Arguments{"bash", "zsh"}}) {
    const auto parsed = ParseCompletions(wrong);
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_THAT(std::string(ParseCompletions({"tcsh"}).status().message()),
              HasSubstr("say bash, zsh or fish"));
  EXPECT_THAT(std::string(ParseCompletions({}).status().message()),
              HasSubstr("say bash, zsh or fish"));
}

// The names in the help of the command itself.
std::vector<std::string> Subcommands() {
  std::vector<std::string> names;
  bool listed = false;
  for (const std::string& line : Shout(std::string(RETRYQ_COMMAND) + " --help").lines) {
    if (listed && !line.starts_with("  ")) break;
    if (listed) names.push_back(line.substr(2, line.find(' ', 2) - 2));
    if (line == "Commands:") listed = true;
  }
  return names;
}

TEST(Completions, OfTheCommandKnowTheFlagsOfEverySubcommand) {
  const testing::TemporaryDirectory files;
  const std::string script = files.File("script");
  ASSERT_EQ(Shout(absl::StrCat(RETRYQ_COMMAND, " completions bash > '", script, "'")).status, 0);
  const std::vector<std::string> subcommands = Subcommands();
  EXPECT_THAT(subcommands, AllOf(Contains("work"), Contains("completions")));
  for (const std::string& subcommand : subcommands) {
    SCOPED_TRACE(subcommand);
    const std::string run = files.Write(
        "run", absl::StrCat("source '", script, "'\nCOMP_WORDS=(retryq ", subcommand,
                            " --he)\nCOMP_CWORD=2\n_retryq\necho \"${COMPREPLY[@]}\"\n"));
    EXPECT_THAT(Shout("bash --norc --noprofile '" + run + "'").lines,
                ElementsAre(HasSubstr("--help")))
        << subcommand;
  }
}

TEST(Completions, OfTheCommandAreTakenByAllShellsThatAreThere) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    if (!IsInstalled(shell)) continue;  // bash always is
    const Printed printed = Shout(
        absl::StrCat(RETRYQ_COMMAND, " completions ", shell, " | ", shell, " -n /dev/stdin 2>&1"));
    EXPECT_EQ(printed.status, 0) << absl::StrJoin(printed.lines, "\n");
  }
}

TEST(ChoicesOf, AreTheWordsThatStandForThemselves) {
  EXPECT_THAT(ChoicesOf({.value = "park|reject|discard"}),
              ElementsAre("park", "reject", "discard"));
  EXPECT_THAT(ChoicesOf({.value = "PART|full|decorrelated"}), ElementsAre("full", "decorrelated"));
  EXPECT_THAT(ChoicesOf({.value = "QUEUE"}), IsEmpty());
  EXPECT_THAT(ChoicesOf({.value = "KEY=VALUE,..."}), IsEmpty());
  EXPECT_THAT(ChoicesOf({}), IsEmpty());
}

}  // namespace completions_test
}  // namespace retryq::cli
