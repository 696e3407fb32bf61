#include "cli/worker/command_pool.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cli/text/io.h"
#include "support/make_message.h"
#include "support/temporary_directory.h"
#include "unit/amqp/run_until.h"

namespace retryq::cli {
namespace command_pool_test {

using ::retryq::testing::MakeMessage;
using ::retryq::testing::TemporaryDirectory;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

class CommandPoolTest : public ::testing::Test {
 protected:
  void SetUp() override { PrepareProcess(); }

  CommandPool& Start(std::vector<std::string> command, int jobs = 1) {
    pool_.emplace(loop_, children_, WorkerPool::Create(jobs).value(),
                  CommandPool::Options{.command = std::move(command),
                                       .jobs = static_cast<std::size_t>(jobs),
                                       .max_attempts = 9,
                                       .first_pause = absl::Milliseconds(1),
                                       .longest_pause = absl::Milliseconds(5)},
                  [this](Availability::State state, const std::string& why) {
                    if (state == Availability::State::kFails) failures_.push_back(why);
                    states_.push_back(state);
                    if (on_state_) on_state_(state);
                  });
    return *pool_;
  }
  CommandPool& StartScript(const std::string& script, int jobs = 1) {
    return Start({"sh", "-c", script}, jobs);
  }

  void Give(std::string_view body) { Give(body, std::make_shared<Delivery::Source>("orders")); }
  // Answers whether its command has begun, as the settlement is told.
  std::shared_ptr<std::atomic<bool>> Give(std::string_view body,
                                          const std::shared_ptr<Delivery::Source>& source) {
    const std::string name(body);
    auto begun = std::make_shared<std::atomic<bool>>(true);
    pool_->Handle(Delivery(MakeMessage({.body = body}), source,
                           {.failures = 2, .last_error = "before", .id = "id-1"}),
                  Settlement(
                      loop_.executor(),
                      [this, name](const Outcome& outcome) {
                        order_.push_back(name);
                        outcomes_.emplace(name, outcome);
                      },
                      std::shared_ptr<const std::atomic<bool>>(source, &source->abandoned), begun));
    return begun;
  }

  void Settled(std::size_t count) {
    Until([&] { return order_.size() >= count; });
  }
  void Until(const std::function<bool()>& condition) { amqp::RunUntil(loop_, condition); }

  // "ok", "requeued" or the error.
  std::string Result(const std::string& name) const {
    const Outcome& outcome = outcomes_.at(name);
    if (outcome.kind() == Outcome::Kind::kRequeue) return "requeued";
    return outcome.status().ok() ? "ok" : std::string(outcome.status().message());
  }

  std::string Stdout() const { return directory_.Read("stdout"); }

  TemporaryDirectory directory_;
  FileDescriptor stdout_{
      ::open(directory_.File("stdout").c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600)};
  EventLoop loop_;
  ChildRunner children_{{.stdout_fd = stdout_.get(), .kill_grace = absl::Milliseconds(50)}};
  std::vector<std::string> failures_;
  std::vector<Availability::State> states_;
  std::function<void(Availability::State)> on_state_;
  std::vector<std::string> order_;  // in which they were settled
  std::map<std::string, Outcome> outcomes_;
  std::optional<CommandPool> pool_;
};

TEST_F(CommandPoolTest, GivesTheCommandTheMessage) {
  Start({"sh", "-c",
         "cat; echo \" $RETRYQ_ATTEMPT $RETRYQ_MAX_ATTEMPTS $RETRYQ_LAST_ERROR $RETRYQ_ID $1\"",
         "sh", "an argument"});
  Give("the body");
  Settled(1);
  EXPECT_EQ(Result("the body"), "ok");
  EXPECT_EQ(Stdout(), "the body 2 9 before id-1 an argument\n");
}

TEST_F(CommandPoolTest, RunsAsManyAtATimeAsItMay) {
  // Each waits for two others.
  StartScript("cd '" + directory_.File("") +
                  "'; echo > $(cat); until test -e a -a -e b -a -e c; do sleep 0.01; done",
              3);
  for (const char* name : {"a", "b", "c", "d"}) Give(name);
  EXPECT_EQ(pool_->open(), 3U);
  Settled(4);
  for (const char* name : {"a", "b", "c", "d"}) EXPECT_EQ(Result(name), "ok");
}

TEST_F(CommandPoolTest, TellsWhatHasBegunFromWhatWaits) {
  StartScript("cat >/dev/null; until test -e '" + directory_.File("go") + "'; do sleep 0.01; done");
  const auto gone = std::make_shared<Delivery::Source>("orders");
  const auto here = std::make_shared<Delivery::Source>("orders");
  EXPECT_TRUE(*Give("hangs", gone));
  EXPECT_FALSE(*Give("waits", gone));
  // Both come again, while the command for the first still runs.
  gone->abandoned = true;
  EXPECT_TRUE(*Give("hangs", here));
  const auto waits = Give("waits", here);
  EXPECT_FALSE(*waits);
  directory_.Write("go", "");
  Until([&] { return waits->load(); });
}

TEST_F(CommandPoolTest, GivesBackWhatWaitsAndGoesOnWithWhatRuns) {
  StartScript("until test -e '" + directory_.File("go") + "'; do sleep 0.01; done");
  for (const char* name : {"runs", "waits", "waits too"}) Give(name);
  pool_->GiveBackWaiting();
  Settled(2);
  EXPECT_EQ(Result("waits"), "requeued");
  EXPECT_EQ(Result("waits too"), "requeued");
  EXPECT_EQ(pool_->open(), 1U);
  Give("next");
  directory_.Write("go", "");
  Settled(4);
  EXPECT_EQ(Result("runs"), "ok");
  EXPECT_EQ(Result("next"), "ok");
}

TEST_F(CommandPoolTest, CountsTheTimeOfTheCommandWithoutThatOfWaitingForIt) {
  StartScript("sleep 0.2");
  for (const char* name : {"a", "b", "c", "d"}) Give(name);
  Settled(4);
  for (const auto& [name, outcome] : outcomes_) {
    ASSERT_TRUE(outcome.took().has_value());
    EXPECT_GE(*outcome.took(), absl::Milliseconds(200));
  }
  // The last waited for three others.
  EXPECT_LT(*outcomes_.at("d").took(), absl::Milliseconds(600));
}

TEST_F(CommandPoolTest, KeepsAMessageUntilItsCommandIsThere) {
  on_state_ = [this](Availability::State state) {
    if (state != Availability::State::kFails) return;
    directory_.Write("command", "#!/bin/sh\ncat", /*executable=*/true);
  };
  Start({directory_.File("command")});
  Give("the body");
  Settled(1);
  EXPECT_EQ(Result("the body"), "ok");
  EXPECT_EQ(Stdout(), "the body");
  EXPECT_THAT(failures_, ElementsAre("cannot be started: No such file or directory"));
  EXPECT_EQ(states_.back(), Availability::State::kWorks);
}

TEST_F(CommandPoolTest, TakesAShellsWordThatThereIsNoCommand) {
  on_state_ = [this](Availability::State state) {
    if (state != Availability::State::kFails) return;
    directory_.Write("inner", "#!/bin/sh\nexit 3", /*executable=*/true);
  };
  StartScript(directory_.File("inner"));
  Give("a");
  Settled(1);
  EXPECT_EQ(Result("a"), "exit 3");
  EXPECT_THAT(failures_, ElementsAre(StartsWith("exit 127")));
}

constexpr char kPoison[] = "if [ $(cat) = poison ]; then exit 127; fi";

TEST_F(CommandPoolTest, FailsTheOneMessageForWhichTheCommandCannotBeRunWhileItWorksForOthers) {
  StartScript(kPoison);
  for (const char* name : {"a", "poison", "b"}) Give(name);
  Settled(3);
  EXPECT_THAT(order_, ElementsAre("a", "poison", "b"));
  EXPECT_EQ(Result("poison"), "exit 127");
  EXPECT_THAT(states_, IsEmpty());
}

TEST_F(CommandPoolTest, FindsOutWithOthersWhetherItIsTheFirstMessageOrTheCommand) {
  StartScript(kPoison);
  for (const char* name : {"poison", "a", "b"}) Give(name);
  Settled(3);
  EXPECT_EQ(Result("poison"), "exit 127");
  EXPECT_EQ(Result("a"), "ok");
  EXPECT_EQ(Result("b"), "ok");
  EXPECT_THAT(states_, ElementsAre(Availability::State::kFails, Availability::State::kTried,
                                   Availability::State::kWorks));
}

TEST_F(CommandPoolTest, FailsNothingAsLongAsTheCommandWorksForNone) {
  StartScript("echo >> '" + directory_.File("runs") + "'; exit 126");
  for (const char* name : {"a", "b", "c"}) Give(name);
  Until([&] { return directory_.Read("runs").size() >= 20; });
  EXPECT_THAT(order_, IsEmpty());
  EXPECT_THAT(failures_, Each(StartsWith("exit 126")));
}

TEST_F(CommandPoolTest, LetsAMessageInThatComesWhileTheCommandIsTried) {
  StartScript(kPoison);
  Give("poison");
  Until([&] { return failures_.size() >= 3; });
  Give("a");
  Settled(2);
  EXPECT_THAT(order_, UnorderedElementsAre("a", "poison"));
  EXPECT_EQ(Result("a"), "ok");
  EXPECT_EQ(Result("poison"), "exit 127");
}

TEST_F(CommandPoolTest, StoppedItGivesBackWhatWaitsForACommand) {
  CommandPool& pool = Start({directory_.File("never")});
  Give("a");
  Until([&] { return !failures_.empty(); });
  bool stopped = false;
  pool.Stop([&] { stopped = true; });
  Settled(1);
  EXPECT_EQ(Result("a"), "requeued");
  Until([&] { return stopped; });
}

TEST_F(CommandPoolTest, StoppedItLetsWhatRunsFinishAndStartsNothing) {
  CommandPool& pool = StartScript("echo started; until test -e '" + directory_.File("go") +
                                  "'; do sleep 0.01; done");
  Give("runs");
  Give("waits");
  Until([&] { return !Stdout().empty(); });
  bool stopped = false;
  pool.Stop([&] { stopped = true; });
  Give("late");
  Settled(2);
  EXPECT_EQ(Result("waits"), "requeued");
  EXPECT_EQ(Result("late"), "requeued");
  EXPECT_FALSE(stopped);
  directory_.Write("go", "");
  Until([&] { return stopped; });
  Settled(3);
  EXPECT_EQ(Result("runs"), "ok");
  EXPECT_EQ(Stdout(), "started\n");
}

TEST_F(CommandPoolTest, EndsWhatRunsAndSettlesNothing) {
  CommandPool& pool = StartScript("echo started; sleep 600");
  Give("runs");
  Give("waits");
  Until([&] { return !Stdout().empty(); });
  const std::vector<Job> unsettled = pool.EndAll();
  EXPECT_EQ(unsettled.size(), 2U);
  pool_.reset();
  bool turned = false;
  loop_.executor()->Post([&turned] { turned = true; });
  Until([&] { return turned; });
  EXPECT_THAT(order_, IsEmpty());
}

}  // namespace command_pool_test
}  // namespace retryq::cli
