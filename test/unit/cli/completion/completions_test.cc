#include <cstdio>

#include "absl/strings/str_split.h"
#include "cli/command.h"
#include "support/temporary_directory.h"
#include "support/test.h"
#include "unit/cli/flags/parsed_arguments.h"

namespace retryq::cli::completions_test {

using Lines = std::vector<std::string>;

const CommandDescription kRetryq = {
    .name = "retryq",
    .flags = {{.names = {"--version"}, .help = "Print the version"}},
    .commands = {
        {.name = "work",
         .summary = "Run it",
         .flags = {{.names = {"--queue"}, .value = "QUEUE", .help = "A queue"},
                   {.names = {"--type"}, .value = "classic|quorum", .help = "A type"},
                   {.names = {"--svg"}, .value = "FILE", .help = "A file"},
                   {.names = {"--header"}, .value = "NAME", .help = "Some", .repeats = true},
                   {.names = {"-h", "--help"}, .help = "Help"}}},
        {.name = "completions", .flags = {{.value = "bash|zsh|fish", .help = "The shell"}}},
        {.name = "parked",
         .flags = {{.value = "list", .help = "What to do"}, {.names = {"--help"}}},
         .commands = {{.name = "list", .flags = {{.names = {"--as"}, .value = "a|b"}}}}},
    }};

// Returns the candidates for the last of these words.
Lines Candidates(const Arguments& words) {
  return absl::StrSplit(Completions({.words = words}, kRetryq), '\n', absl::SkipEmpty());
}

TEST(Completions, OfTheFirstWordAreCommandsAndFlags) {
  EXPECT_THAT(Candidates({""}), ElementsAre("work\tRun it", "completions\t", "parked\t",
                                            "--version\tPrint the version"));
}

TEST(Completions, OfACommandAreItsUnusedFlags) {
  EXPECT_THAT(Candidates({"work", "--queue", "q", "--header", "h", "--type=quorum", ""}),
              ElementsAre("--svg\tA file", "--header\tSome", "-h\tHelp", "--help\tHelp"));
  EXPECT_THAT(Candidates({"wrok", ""}), ElementsAre(HasSubstr("--version")));
}

TEST(Completions, OfAFlagAreItsValues) {
  EXPECT_THAT(Candidates({"work", "--type", ""}), ElementsAre("classic\tA type", "quorum\tA type"));
  EXPECT_THAT(Candidates({"work", "--type", "=", "q"}), Contains("quorum\tA type")) << "as in bash";
  EXPECT_THAT(Candidates({"work", "--type", "="}), Contains("quorum\tA type"));
  EXPECT_THAT(Candidates({"work", "--type=q"}), Contains("--type=quorum\tA type"));
  EXPECT_THAT(Candidates({"work", "--queue", ""}), IsEmpty());
  EXPECT_THAT(Candidates({"work", "--svg", "a"}), ElementsAre(":files"));
}

TEST(Completions, OfASubcommandAreItsCommands) {
  EXPECT_THAT(Candidates({"parked", ""}), ElementsAre("list\t", "--help\t"));
  EXPECT_THAT(Candidates({"parked", "list", ""}), ElementsAre("--as\t"));
  EXPECT_THAT(Candidates({"parked", "list", "--as", ""}), ElementsAre("a\t", "b\t"));
  EXPECT_THAT(Candidates({"completions", ""}), Contains("zsh\tThe shell"));
}

TEST(Completions, AfterDashesAreProgramsAndThenFiles) {
  EXPECT_THAT(Candidates({"work", "--", ""}), ElementsAre(":programs"));
  EXPECT_THAT(Candidates({"work", "--", "cat", "--"}), ElementsAre(":files"));
}

TEST(Completions, RequireOneOfThreeShells) {
  EXPECT_EQ(OptionsIn(ParseCompletions({"zsh"})).shell, "zsh");
  EXPECT_THAT(OptionsIn(ParseCompletions({"--words"})).words, ElementsAre(""));
  EXPECT_THAT(ComplaintsIn(ParseCompletions({"tcsh"})), HasSubstr("name bash, zsh or fish"));
  EXPECT_THAT(ComplaintsIn(ParseCompletions({})), HasSubstr("name bash, zsh or fish"));
  EXPECT_THAT(ComplaintsIn(ParseCompletions({"bash", "zsh"})), HasSubstr("'zsh'"));
}

// Runs a shell with a script in the language of this shell, and the command in $PATH. Returns the
// lines that it prints.
Lines Printed(const std::string& shell, const std::string& script) {
  const testing::TemporaryDirectory files;
  files.Write("picture.svg", "");
  const std::string run = files.Write(
      "run", absl::StrCat("cd '", files.File(""), "'\nexport HOME='", files.File(""),
                          "'\nexport PATH=\"$(dirname " RETRYQ_COMMAND "):$PATH\"\n", script));
  std::FILE* const pipe = ::popen((shell + " '" + run + "' 2>&1").c_str(), "r");
  std::string text;
  std::array<char, 4096> chunk;
  for (std::size_t size = 1; size > 0;) {
    size = std::fread(chunk.data(), 1, chunk.size(), pipe);
    text.append(chunk.data(), size);
  }
  EXPECT_EQ(::pclose(pipe), 0) << shell << ": " << text;
  return absl::StrSplit(text, '\n', absl::SkipEmpty());
}

bool IsInstalled(const std::string& shell) {
  return Printed("sh", "command -v " + shell + " || true") != Lines();
}

Lines CompletedByBash(const Arguments& words) {
  return Printed("bash --norc --noprofile",
                 absl::StrCat("set -u\nsource <(retryq completions bash)\nCOMP_WORDS=(retryq '",
                              absl::StrJoin(words, "' '"), "')\nCOMP_CWORD=", words.size(),
                              "\n_retryq\nprintf '%s\\n' \"${COMPREPLY[@]-}\""));
}

TEST(BashCompletion, OffersTheCompletionsOfRetryq) {
  EXPECT_THAT(CompletedByBash({"wo"}), ElementsAre("work"));
  EXPECT_THAT(CompletedByBash({"help", "pa"}), ElementsAre("parked"));
  EXPECT_THAT(CompletedByBash({"plan", "--work-"}), ElementsAre("--work-queue", "--work-exchange"));
  EXPECT_THAT(CompletedByBash({"plan", "--backoff", "=", "f"}), ElementsAre("fixed"));
  EXPECT_THAT(CompletedByBash({"plan", "--svg", "pict"}), ElementsAre("picture.svg"));
  EXPECT_THAT(CompletedByBash({"parked", "list", "--queu"}), ElementsAre("--queue"));
  EXPECT_THAT(CompletedByBash({"work", "--", "bas"}), Contains("bash"));
  EXPECT_THAT(CompletedByBash({"x", ""}), Not(Contains("work")));
}

TEST(FishCompletion, OffersTheCompletionsOfRetryq) {
  if (!IsInstalled("fish")) GTEST_SKIP() << "there is no fish";
  const auto completed = [](const std::string& line) {
    return Printed("fish", "retryq completions fish | source; complete -C '" + line + "'");
  };
  EXPECT_THAT(completed("retryq wo"), ElementsAre(HasSubstr("work\tRun a program")));
  EXPECT_THAT(completed("retryq plan --backoff "), Contains(HasSubstr("fixed\t")));
  EXPECT_THAT(completed("retryq plan --backoff=fi"), ElementsAre(HasSubstr("--backoff=fixed\t")));
  EXPECT_THAT(completed("retryq plan --svg pict"), ElementsAre(HasSubstr("picture.svg")));
  EXPECT_THAT(completed("retryq parked list --queu"), ElementsAre(HasSubstr("--queue\t")));
}

// Its functions need a terminal, so that stand-ins print what they get.
TEST(ZshCompletion, OffersTheCompletionsOfRetryq) {
  if (!IsInstalled("zsh")) GTEST_SKIP() << "there is no zsh";
  const auto completed = [](const std::string& words, int current) {
    return Printed("zsh -f",
                   absl::StrCat("compdef() {}\n_files() { print files }\n_normal() { print "
                                "\"$words\" }\ncompset() {}\n_describe() { print -l "
                                "\"${(@P)4}\" }\nsource <(retryq completions zsh)\nwords=(",
                                words, ")\nCURRENT=", current, "\n_retryq"));
  };
  EXPECT_THAT(completed("retryq ''", 2), Contains(HasSubstr("work:Run a program")));
  EXPECT_THAT(completed("retryq plan --backoff ''", 4), Contains(HasSubstr("fixed:")));
  EXPECT_THAT(completed("retryq plan --svg ''", 4), ElementsAre("files"));
  EXPECT_THAT(completed("retryq work -- cat ''", 5), ElementsAre(HasSubstr("cat")));
}

TEST(Completions, OfEverySubcommandHaveItsHelp) {
  const Lines all = Printed("sh", "retryq completions --words ''");
  EXPECT_THAT(all, AllOf(Contains(HasSubstr("work\t")), Contains(HasSubstr("completions\t"))));
  for (const std::string& line : all) {
    const std::string name = line.substr(0, line.find('\t'));
    if (name.starts_with("-") || name == "help") continue;
    EXPECT_THAT(Printed("sh", "retryq completions --words " + name + " ''"),
                Contains(HasSubstr("--help\t")))
        << name;
  }
}

}  // namespace retryq::cli::completions_test
