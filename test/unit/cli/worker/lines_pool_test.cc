#include "cli/worker/lines_pool.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/text/io.h"
#include "support/make_message.h"
#include "support/temporary_directory.h"
#include "unit/amqp/run_until.h"

namespace retryq::cli {
namespace lines_pool_test {

using retryq::testing::MakeMessage;
using retryq::testing::TemporaryDirectory;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// Children are shells that read line after line; `$id` and `$line` are what they have got.
std::string ForEach(const std::string& script) {
  return "while IFS= read -r line; do id=${line#*:}; id=${id%%,*}; " + script + "; done";
}
constexpr char kOk[] = "echo \"{\\\"id\\\":$id,\\\"ok\\\":true}\"";

class LinesPoolTest : public ::testing::Test {
 protected:
  void SetUp() override { PrepareProcess(); }
  void TearDown() override {
    pool_.reset();
    // No zombie is left.
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
  }

  LinesPool& Start(
      const std::string& script,
      const std::function<void(LinesPool::Options&)>& change = [](LinesPool::Options&) {}) {
    LinesPool::Options options;
    options.child = {.command = {"sh", "-c", script},
                     .environment = {"PATH=/bin:/usr/bin"},
                     .max_attempts = 9,
                     .kill_grace = absl::Milliseconds(50)};
    options.first_pause = absl::Milliseconds(1);
    options.longest_pause = absl::Milliseconds(5);
    options.proof = absl::Milliseconds(5);
    change(options);
    pool_.emplace(loop_, std::move(options),
                  LinesPool::Callbacks{
                      .on_state =
                          [this](Availability::State state, const std::string& why) {
                            if (state == Availability::State::kTried) return;
                            const bool works = state == Availability::State::kWorks;
                            availability_.push_back(works ? "available" : why);
                          },
                      .child_ended = [this](const std::string& why) { ends_.push_back(why); },
                      .no_answer = [this](const std::string& why) { silences_.push_back(why); },
                      .odd_answer = [this](const std::string& why) { oddities_.push_back(why); }});
    pool_->Start();
    return *pool_;
  }

  // The script runs once another one has answered a message, "first", and has ended.
  LinesPool& StartAndAnswer(
      const std::string& script,
      const std::function<void(LinesPool::Options&)>& change = [](LinesPool::Options&) {}) {
    LinesPool& pool =
        Start("if test -e " + File("answered") + "; then " + script + "; else echo > " +
                  File("answered") + "; IFS= read -r line; id=1; " + kOk + "; fi",
              change);
    Give("first");
    Until([&] { return !ends_.empty(); });
    return pool;
  }

  void Give(std::string_view body) {
    const std::string name(body.substr(0, 20));
    pool_->Handle(
        Delivery(MakeMessage({.body = body}), std::make_shared<const std::string>("orders"), {}),
        Settlement(loop_.executor(), [this, name](const Outcome& outcome) {
          order_.push_back(name);
          outcomes_.emplace(name, outcome);
        }));
  }

  // Waits until so many are settled.
  void Settled(std::size_t count) {
    Until([&] { return order_.size() >= count; });
  }
  void Until(const std::function<bool()>& condition) { amqp::RunUntil(loop_, condition); }

  std::string Error(const std::string& name) {
    return std::string(outcomes_.at(name).status().message());
  }
  bool Ok(const std::string& name) {
    return outcomes_.at(name).kind() == Outcome::Kind::kByStatus &&
           outcomes_.at(name).status().ok();
  }
  bool Requeued(const std::string& name) {
    return outcomes_.at(name).kind() == Outcome::Kind::kRequeue;
  }

  std::string File(const std::string& name) const { return "'" + files_.File(name) + "'"; }

  EventLoop loop_;
  TemporaryDirectory files_;
  std::optional<LinesPool> pool_;
  std::vector<std::string> availability_;
  std::vector<std::string> ends_;
  std::vector<std::string> silences_;
  std::vector<std::string> oddities_;
  std::vector<std::string> order_;  // in which they were settled
  std::map<std::string, Outcome> outcomes_;
};

TEST_F(LinesPoolTest, GivesAChildMessageAfterMessage) {
  Start("echo $$ >> " + File("starts") + "; " + ForEach(kOk));
  for (int i = 0; i < 100; ++i) Give(absl::StrCat("m", i));
  Settled(100);
  for (const auto& [name, outcome] : outcomes_) EXPECT_TRUE(Ok(name));
  EXPECT_EQ(order_[99], "m99");
  const std::string starts = files_.Read("starts");
  EXPECT_EQ(std::count(starts.begin(), starts.end(), '\n'), 1);
  EXPECT_THAT(ends_, IsEmpty());
}

TEST_F(LinesPoolTest, GivesBackWhatWaitsAndGoesOnWithWhatChildrenHave) {
  Start(ForEach("until test -e " + File("go") + "; do sleep 0.01; done; " + kOk));
  for (const char* name : {"begun", "waits", "waits too"}) Give(name);
  pool_->GiveBackWaiting();
  Settled(2);
  EXPECT_TRUE(Requeued("waits"));
  EXPECT_TRUE(Requeued("waits too"));
  EXPECT_EQ(pool_->open(), 1U);
  Give("next");
  files_.Write("go", "");
  Settled(4);
  EXPECT_TRUE(Ok("begun"));
  EXPECT_TRUE(Ok("next"));
}

TEST_F(LinesPoolTest, KeepsAsManyChildrenBusyAsItShall) {
  // None answers before all have got one.
  Start(ForEach("echo >> " + File("got") + "; until test $(wc -l < " + File("got") +
                ") = 3; do sleep 0.01; done; " + kOk),
        [](LinesPool::Options& options) { options.children = 3; });
  for (const char* name : {"a", "b", "c"}) Give(name);
  Settled(3);
}

TEST_F(LinesPoolTest, GivesAChildSeveralAtATimeWhichItMayAnswerInAnyOrder) {
  Start(
      "read -r a; read -r b; echo '{\"id\":2,\"ok\":true}'; echo '{\"id\":1,\"error\":\"no\"}'; "
      "cat > /dev/null",
      [](LinesPool::Options& options) { options.in_flight = 2; });
  Give("a");
  Give("b");
  Settled(2);
  EXPECT_THAT(order_, ElementsAre("b", "a"));
  EXPECT_EQ(Error("a"), "no");
}

TEST_F(LinesPoolTest, PassesBodiesThatAreLargerThanAnyPipe) {
  // In pieces, and an answer in pieces.
  const std::string large(300'000, 'x');
  Start(
      ForEach("test ${#line} -gt 300000 && printf '{\"id\":%s,' $id && sleep 0.01 && "
              "echo '\"ok\":true}'"));
  Give(large);
  Settled(1);
  EXPECT_TRUE(Ok(std::string(20, 'x')));
}

TEST_F(LinesPoolTest, DoesNotWaitForAChildThatDoesNotRead) {
  Start("until test -e " + File("go") + "; do sleep 0.01; done; " + ForEach(kOk),
        [](LinesPool::Options& options) { options.in_flight = 4; });
  const std::string large(200'000, 'x');
  for (const char* name : {"a", "b", "c"}) Give(name + large);
  bool turned = false;
  const auto timer = loop_.After(absl::Milliseconds(20), [&] { turned = true; });
  Until([&] { return turned; });
  EXPECT_THAT(order_, IsEmpty());
  files_.Write("go", "");
  Settled(3);
}

TEST_F(LinesPoolTest, FailsTheMessageThatAChildDiedOfAndStartsItAgain) {
  Start(
      ForEach("case $line in *poison*) echo out of paper >&2; exit 3;; esac; " + std::string(kOk)));
  Give("good");
  Give("poison");
  Give("better");
  Settled(3);
  EXPECT_TRUE(Ok("good"));
  EXPECT_TRUE(Ok("better"));
  EXPECT_EQ(Error("poison"), "exit 3: out of paper");
  EXPECT_THAT(ends_, ElementsAre("exit 3: out of paper"));
}

TEST_F(LinesPoolTest, GivesEachOfSeveralThatAChildHadToAChildAlone) {
  Start(ForEach("case $line in *poison*) kill -KILL $$;; esac; " + std::string(kOk)),
        [](LinesPool::Options& options) { options.in_flight = 8; });
  for (const char* name : {"a", "poison", "b", "c"}) Give(name);
  Settled(4);
  EXPECT_THAT(order_, ElementsAre("a", "poison", "b", "c"));
  EXPECT_EQ(Error("poison"), "killed by SIGKILL");
  for (const char* name : {"a", "b", "c"}) EXPECT_TRUE(Ok(name));
}

TEST_F(LinesPoolTest, FailsTheMessageThatAChildDiedOfWhicheverOfSeveralItWas) {
  StartAndAnswer("if test -e " + File("died") + "; then " +
                     ForEach("case $line in *poison*) exit 3;; esac; " + std::string(kOk)) +
                     "; else read -r a; read -r b; read -r c; echo > " + File("died") +
                     "; exit 3; fi",
                 [](LinesPool::Options& options) { options.in_flight = 8; });
  for (const char* name : {"a", "b", "poison", "c"}) Give(name);
  Settled(5);
  EXPECT_EQ(Error("poison"), "exit 3");
  for (const char* name : {"a", "b", "c"}) EXPECT_TRUE(Ok(name)) << name;
  EXPECT_THAT(ends_, SizeIs(3));
}

TEST_F(LinesPoolTest, AChildThatEndsInPeaceIsNoFailure) {
  Start("IFS= read -r line; id=${line#*:}; id=${id%%,*}; " + std::string(kOk));
  for (const char* name : {"a", "b", "c"}) Give(name);
  Settled(3);
  for (const char* name : {"a", "b", "c"}) EXPECT_TRUE(Ok(name)) << Error(name);
}

TEST_F(LinesPoolTest, OneThatLeavesAMessageUnansweredIs) {
  StartAndAnswer("read -r line; exit 0");
  Give("a");
  Settled(2);
  EXPECT_EQ(Error("a"), "exit 0");
}

TEST_F(LinesPoolTest, PausesLongerAndLongerWhereAChildDiesAtOnce) {
  Start("echo >> " + File("starts") + "; exit 1", [](LinesPool::Options& options) {
    options.first_pause = absl::Milliseconds(10);
    options.longest_pause = absl::Hours(1);
  });
  const absl::Duration begun = loop_.clock().SinceBoot();
  Until([&] { return ends_.size() == 6; });
  EXPECT_GE(loop_.clock().SinceBoot() - begun, absl::Milliseconds(10 + 20 + 40 + 80 + 160) / 2);
}

TEST_F(LinesPoolTest, EndsAChildThatWritesNonsense) {
  StartAndAnswer(ForEach("case $line in *bad*) echo hello; " + std::string(kOk) +
                         "; sleep 600;; esac; " + kOk));
  Give("bad");
  Give("good");
  Settled(3);
  EXPECT_EQ(Error("bad"),
            "has written 'hello', which is no answer: it is not JSON; stdout is for answers alone, "
            "print anything else to stderr");
  EXPECT_TRUE(Ok("good"));
  EXPECT_THAT(ends_, SizeIs(2));
}

TEST_F(LinesPoolTest, EndsAChildThatAnswersWhatItDoesNotHave) {
  StartAndAnswer(ForEach("echo '{\"id\":99,\"ok\":true}'"));
  Give("a");
  Settled(2);
  EXPECT_THAT(Error("a"), HasSubstr("no message with that \"id\" was given to this program"));
}

TEST_F(LinesPoolTest, EndsAChildThatAnswersTwice) {
  StartAndAnswer(ForEach(std::string(kOk) + "; echo '{\"id\":1,\"ok\":true}'"));
  Give("a");
  Give("b");
  Until([&] { return ends_.size() >= 2; });
  EXPECT_THAT(ends_[1], HasSubstr("the message with that \"id\" is answered already"));
}

TEST_F(LinesPoolTest, EndsAChildThatWritesALineWithoutAnEnd) {
  StartAndAnswer("read -r line; yes | tr -d '\\n'");
  Give("a");
  Settled(2);
  EXPECT_EQ(Error("a"), "has written a line of more than a mebibyte");
}

TEST_F(LinesPoolTest, EndsAChildThatClosesAPipeAndLivesOn) {
  StartAndAnswer("read -r line; exec >&-; sleep 600");
  Give("a");
  Settled(2);
  EXPECT_EQ(Error("a"), "has closed its stdout and lives on");
}

TEST_F(LinesPoolTest, EndsAChildThatTakesTooLongOverAMessageEvenIfItIgnoresSigterm) {
  Start("trap '' TERM; " + ForEach("case $line in *slow*) sleep 600;; esac; " + std::string(kOk)),
        [](LinesPool::Options& options) {
          options.child.timeout = absl::Seconds(2);
          options.in_flight = 3;
        });
  for (const char* name : {"quick", "slow", "other"}) Give(name);
  Settled(3);
  EXPECT_TRUE(Ok("quick"));
  EXPECT_EQ(Error("slow"), "timed out after 2s");
  EXPECT_TRUE(Ok("other"));
}

TEST_F(LinesPoolTest, CountsTheTimeOfEachMessageByItself) {
  Start(ForEach("sleep 0.3; " + std::string(kOk)), [](LinesPool::Options& options) {
    options.child.timeout = absl::Seconds(2);
    options.in_flight = 10;
  });
  for (int i = 0; i < 10; ++i) Give(absl::StrCat("m", i));
  Settled(10);
  for (const auto& [name, outcome] : outcomes_) EXPECT_TRUE(Ok(name)) << Error(name);
}

TEST_F(LinesPoolTest, FailsNothingWhereTheProgramCannotBeRun) {
  const std::string program = files_.File("program");
  Start("exec " + program, [](LinesPool::Options& options) { options.children = 2; });
  Give("a");
  Until([&] { return !availability_.empty(); });
  EXPECT_THAT(availability_[0], HasSubstr("exit 127"));
  EXPECT_THAT(order_, IsEmpty());
  files_.Write("program", "#!/bin/sh\n" + ForEach(kOk) + "\n", /*executable=*/true);
  Settled(1);
  EXPECT_TRUE(Ok("a"));
  Until([&] { return availability_.back() == "available"; });
}

TEST_F(LinesPoolTest, FailsAMessageOfWhichSeveralHaveEndedThoughNoneHasEverAnswered) {
  Start("read -r line; exit 1");
  Give("a");
  Settled(1);
  EXPECT_EQ(Error("a"), "exit 1");
  EXPECT_THAT(ends_, SizeIs(LinesPool::kCrashesThatCount));
}

TEST_F(LinesPoolTest, IsInTroubleOnceSeveralInARowHaveHandledNothing) {
  Start("if test -e " + File("well") + "; then " + ForEach(kOk) + "; fi; read -r line; exit 1");
  Give("a");
  Give("b");
  Until([&] { return ends_.size() == 2; });
  EXPECT_EQ(pool_->Trouble(), std::nullopt);
  Until([&] { return ends_.size() == 3; });
  EXPECT_EQ(pool_->Trouble(),
            "COMMAND has ended 3 times in a row without having handled a message: exit 1");
  files_.Write("well", "");
  Settled(2);
  EXPECT_EQ(pool_->Trouble(), std::nullopt);
}

TEST_F(LinesPoolTest, WarnsOnceOfFieldsThatItIgnores) {
  Start(ForEach("echo \"{\\\"id\\\":$id,\\\"ok\\\":true,\\\"extra\\\":1}\""));
  for (const char* name : {"a", "b"}) Give(name);
  Settled(2);
  for (const char* name : {"a", "b"}) EXPECT_TRUE(Ok(name));
  EXPECT_THAT(ends_, IsEmpty());
  EXPECT_THAT(oddities_, ElementsAre(HasSubstr("a field 'extra', which is ignored")));
}

TEST_F(LinesPoolTest, KnowsForHowLongItIsAtAMessage) {
  Start(ForEach("case $line in *slow*) sleep 600;; esac; " + std::string(kOk)),
        [](LinesPool::Options& options) { options.children = 2; });
  EXPECT_FALSE(pool_->Oldest().has_value());
  Give("slow");
  Give("quick");
  Settled(1);
  Until([&] { return pool_->Oldest()->running > absl::Milliseconds(20); });
  EXPECT_EQ(pool_->Oldest()->delivery.body(), "slow");
}

TEST_F(LinesPoolTest, FailsNothingWhereTheProgramNeverBeginsAMessage) {
  std::vector<std::vector<Job>> kept;  // dropped they would be settled
  for (const char* script : {"exit 1", "echo hello; sleep 600", "read -r line; exit 127"}) {
    availability_.clear();
    ends_.clear();
    Start(script);
    Give("a");
    Until([&] { return ends_.size() >= 5; });
    EXPECT_THAT(order_, IsEmpty()) << script;
    EXPECT_THAT(availability_, Not(IsEmpty())) << script;
    kept.push_back(pool_->EndAll());
    pool_.reset();
  }
}

TEST_F(LinesPoolTest, FailsNothingWhereTheProgramEndsBeforeItReads) {
  StartAndAnswer("echo no database >&2; exit 1",
                 [](LinesPool::Options& options) { options.proof = absl::Minutes(1); });
  Give("a");
  Until([&] { return ends_.size() >= 6; });
  EXPECT_THAT(order_, ElementsAre("first"));
  EXPECT_THAT(availability_, Each("exit 1: no database"));
}

TEST_F(LinesPoolTest, FindsOutWithOthersWhetherItIsTheFirstMessageOrTheProgram) {
  Start(ForEach("case $line in *poison*) exit 3;; esac; " + std::string(kOk)));
  for (const char* name : {"poison", "a", "b"}) Give(name);
  Settled(3);
  EXPECT_TRUE(Ok("a"));
  EXPECT_TRUE(Ok("b"));
  EXPECT_EQ(Error("poison"), "exit 3");
}

TEST_F(LinesPoolTest, FailsTheOneMessageOverWhichItExitsWith127WhileItAnswersOthers) {
  Start(ForEach("case $line in *poison*) exit 127;; esac; " + std::string(kOk)));
  for (const char* name : {"a", "poison", "b"}) Give(name);
  Settled(3);
  EXPECT_EQ(Error("poison"), "exit 127");
  EXPECT_TRUE(Ok("b"));
  EXPECT_THAT(availability_, IsEmpty());
}

TEST_F(LinesPoolTest, SaysThatThereIsNoAnswerAndHowToFixThat) {
  Start("cat > /dev/null", [](LinesPool::Options& options) {
    options.silence = absl::Milliseconds(10);
    options.report_silence_every = absl::Milliseconds(20);
  });
  Give("a");
  Until([&] { return silences_.size() == 2; });
  EXPECT_THAT(silences_[0], HasSubstr("flush stdout after each line"));
}

TEST_F(LinesPoolTest, IsSilentAboutAProgramThatHasAnsweredOnce) {
  Start(ForEach("case $line in *slow*) sleep 600;; esac; " + std::string(kOk)),
        [](LinesPool::Options& options) { options.silence = absl::Milliseconds(500); });
  Give("quick");
  Settled(1);
  const std::size_t silences = silences_.size();
  Give("slow");
  bool turned = false;
  const auto timer = loop_.After(absl::Milliseconds(700), [&] { turned = true; });
  Until([&] { return turned; });
  EXPECT_EQ(silences_.size(), silences);
}

TEST_F(LinesPoolTest, CountsTheTimeOfTheProgramWithoutThatOfWaitingForIt) {
  for (const std::size_t in_flight : {std::size_t{1}, std::size_t{10}}) {
    order_.clear();
    outcomes_.clear();
    Start(ForEach("sleep 0.2; " + std::string(kOk)),
          [&](LinesPool::Options& options) { options.in_flight = in_flight; });
    for (int i = 0; i < 4; ++i) Give(absl::StrCat("m", i));
    Settled(4);
    // It has waited for three others.
    ASSERT_TRUE(outcomes_.at("m3").took().has_value());
    EXPECT_GE(*outcomes_.at("m3").took(), absl::Milliseconds(150));
    EXPECT_LT(*outcomes_.at("m3").took(), absl::Milliseconds(600));
    pool_.reset();
  }
}

TEST_F(LinesPoolTest, TriesAProgramAgainThatIsNotThere) {
  const std::string program = files_.File("program");
  Start("", [&](LinesPool::Options& options) { options.child.command = {program}; });
  Give("a");
  ASSERT_THAT(availability_, SizeIs(1));
  files_.Write("program", "#!/bin/sh\n" + ForEach(kOk) + "\n", /*executable=*/true);
  Settled(1);
  EXPECT_EQ(availability_.back(), "available");
}

TEST_F(LinesPoolTest, StopsWhenAllHaveAnsweredAndGivesTheRestBack) {
  LinesPool& pool = Start(ForEach("echo >> " + File("got") + "; until test -e " + File("go") +
                                  "; do sleep 0.01; done; " + kOk) +
                          "; echo >> " + File("ended"));
  Give("had");
  Give("waiting");
  Until([&] { return !files_.Read("got").empty(); });
  bool stopped = false;
  pool.Stop([&] { stopped = true; });
  Give("late");
  Settled(2);
  EXPECT_TRUE(Requeued("waiting"));
  EXPECT_TRUE(Requeued("late"));
  EXPECT_FALSE(stopped);
  files_.Write("go", "");
  Until([&] { return stopped; });
  Settled(3);
  EXPECT_TRUE(Ok("had"));
  // It saw the end of its stdin.
  EXPECT_EQ(files_.Read("ended"), "\n");
  EXPECT_THAT(ends_, IsEmpty());
}

TEST_F(LinesPoolTest, EndsWhatDoesNotEndAndSettlesNothing) {
  LinesPool& pool =
      Start("trap '' TERM; echo $$ > " + File("pid") + "; while true; do sleep 600; done");
  Give("a");
  Give("b");
  Until([&] { return !files_.Read("pid").empty(); });
  const std::vector<Job> unsettled = pool.EndAll();
  EXPECT_THAT(unsettled, SizeIs(2));
  EXPECT_NE(::kill(static_cast<pid_t>(std::stol(files_.Read("pid"))), 0), 0);
  EXPECT_THAT(order_, IsEmpty());
}

}  // namespace lines_pool_test
}  // namespace retryq::cli
