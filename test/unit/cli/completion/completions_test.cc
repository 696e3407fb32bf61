#include <cstdio>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "support/temporary_directory.h"
#include "support/test.h"

namespace retryq::cli::completions_test {

using Lines = std::vector<std::string>;

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

// Returns the candidates for the last of these words.
Lines Candidates(const Lines& words) {
  return Printed("sh", "retryq completions --words '" + absl::StrJoin(words, "' '") + "'");
}

TEST(Completions, OfTheFirstWordAreCommandsAndFlags) {
  EXPECT_THAT(Candidates({""}),
              AllOf(Contains(StartsWith("work\tRun a program")), Contains(StartsWith("parked\t")),
                    Contains("--version\tPrint the version")));
  EXPECT_THAT(Candidates({"wrok", ""}), Contains(HasSubstr("--version")));
}

TEST(Completions, OfACommandAreItsUnusedFlags) {
  EXPECT_THAT(
      Candidates({"send", "--queue", "q", "--header", "h", "--declare-type=quorum", ""}),
      AllOf(Contains(StartsWith("--header\t")), Contains("--help\tPrint this and exit"),
            Not(Contains(StartsWith("--queue\t"))), Not(Contains(StartsWith("--declare-type\t")))));
}

TEST(Completions, OfAFlagAreItsValues) {
  EXPECT_THAT(Candidates({"work", "--queue-type", ""}),
              ElementsAre(StartsWith("classic\tSet the type"), StartsWith("quorum\t")));
  EXPECT_THAT(Candidates({"work", "--queue-type", "="}), Contains(StartsWith("quorum\t")));
  EXPECT_THAT(Candidates({"work", "--queue-type=q"}),
              Contains(StartsWith("--queue-type=quorum\t")));
  EXPECT_THAT(Candidates({"work", "--queue", ""}), IsEmpty());
}

TEST(Completions, OfASubcommandAreItsCommands) {
  EXPECT_THAT(Candidates({"parked", ""}), Contains("list\t"));
  EXPECT_THAT(Candidates({"parked", "list", "--by", ""}), Contains(StartsWith("error\t")));
  EXPECT_THAT(Candidates({"completions", ""}), Contains("zsh\tThe shell"));
}

TEST(Completions, AfterDashesAreProgramsAndThenFiles) {
  EXPECT_THAT(Candidates({"work", "--", ""}), ElementsAre(":programs"));
  EXPECT_THAT(Candidates({"work", "--", "cat", "--"}), ElementsAre(":files"));
}

TEST(Completions, RequireOneOfThreeShells) {
  for (const char* shell : {"tcsh", "", "bash zsh"}) {
    EXPECT_THAT(Printed("sh", absl::StrCat("retryq completions ", shell, " || true")),
                Contains(ContainsRegex("name bash, zsh or fish|'zsh': unexpected here")));
  }
}

bool IsInstalled(const std::string& shell) {
  return Printed("sh", "command -v " + shell + " || true") != Lines();
}

Lines CompletedByBash(const Lines& words) {
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
