// `retryq work`: stopping.

#include <filesystem>
#include <nlohmann/json.hpp>

#include "integration/command_run.h"
#include "support/test.h"

namespace retryq::testing::command_stop_test {

class CommandStop : public CommandTest {
 protected:
  // Reports that it has started, then waits for the test.
  std::string WaitForGo() const {
    return NotePid("started") + "; until test -e " + File("go") + "; do sleep 0.01; done";
  }

  ::testing::AssertionResult HasStarted(CommandRun& run) {
    return run.Until([this] { return !files_.Read("started").empty(); }, "the start");
  }

  // The messages of a worker may be counted as ready a moment after it has exited.
  ::testing::AssertionResult IsBack(std::uint32_t messages) {
    if (CommandRun::WaitUntil([&] { return peer_.Count("orders") == messages; },
                              absl::Seconds(10))) {
      return ::testing::AssertionSuccess();
    }
    return ::testing::AssertionFailure() << peer_.Count("orders") << " messages are ready";
  }
};

TEST_F(CommandStop, FinishesRunningCommandsAndRequeuesTheRest) {
  CommandRun run = Work({}, WaitForGo());
  for (int i = 0; i < 10; ++i) Publish("an order");
  ASSERT_TRUE(HasStarted(run));
  run.Signal(SIGTERM);
  ASSERT_TRUE(run.Says("stopping"));
  files_.Write("go", "");
  EXPECT_EQ(run.Wait(absl::Seconds(10)), 0) << run.Story();
  EXPECT_EQ(run.events("acked").size(), 1U) << run.Story();
  EXPECT_TRUE(IsBack(9));
}

TEST_F(CommandStop, SettlesAFailureBeforeItExits) {
  CommandRun run = Work({}, WaitForGo() + "; exit 1");
  Publish("an order");
  ASSERT_TRUE(HasStarted(run));
  run.Signal(SIGINT);
  ASSERT_TRUE(run.Says("stopping"));
  files_.Write("go", "");
  EXPECT_EQ(run.Wait(), 0) << run.Story();
  EXPECT_EQ(run.events("retried").size(), 1U) << run.Story();
  EXPECT_TRUE(IsBack(1));  // by way of retry.50
}

TEST_F(CommandStop, ASecondSignalEndsTheCommandsAndMoreDoNoHarm) {
  for (int i = 0; i < 5; ++i) Publish("an order");
  for (const int signals : {2, 20}) {
    files_.Write("started", "");
    CommandRun run = Work({"--jobs", "2"}, WaitForGo());
    ASSERT_TRUE(HasStarted(run));
    for (int i = 0; i < signals; ++i) {
      run.Signal(i % 2 == 0 ? SIGTERM : SIGINT);
      absl::SleepFor(absl::Milliseconds(1));
    }
    EXPECT_EQ(run.Wait(absl::Seconds(10)), 0) << run.Story();
    EXPECT_TRUE(IsGone("started"));
    EXPECT_TRUE(IsBack(5));
    EXPECT_TRUE(run.events("failed").empty()) << run.Story();
  }
}

TEST_F(CommandStop, CommandsDoNotOutliveAWorkerThatIsKilled) {
  CommandRun run = Work({}, WaitForGo());
  Publish("an order");
  ASSERT_TRUE(HasStarted(run));
  run.Signal(SIGKILL);
  EXPECT_TRUE(IsGone("started"));
  EXPECT_TRUE(IsBack(1));
}

TEST_F(CommandStop, KillsCommandsAfterTheGracePeriodEvenIfTheyIgnoreSigterm) {
  CommandRun run = Work({"--grace", "200ms"}, "trap '' TERM; " + WaitForGo());
  Publish("an order");
  ASSERT_TRUE(HasStarted(run));
  run.Signal(SIGTERM);
  EXPECT_EQ(run.Wait(absl::Seconds(10)), 0) << run.Story();
  EXPECT_TRUE(IsGone("started"));
  EXPECT_TRUE(IsBack(1));
}

TEST_F(CommandStop, DoesNotWaitForACommandThatIsGone) {
  const std::string program = files_.Write("program", "#!/bin/sh\nexit 0\n", /*executable=*/true);
  CommandRun run({"work", "--json", "--queue", "orders", "--", program}, vhost_.Url());
  ASSERT_TRUE(run.Says("consuming"));
  std::filesystem::remove(program);
  for (int i = 0; i < 3; ++i) Publish("an order");
  ASSERT_TRUE(run.Says("paused"));
  run.Signal(SIGTERM);
  EXPECT_EQ(run.Wait(absl::Seconds(10)), 0) << run.Story();
  EXPECT_TRUE(IsBack(3));
}

TEST_F(CommandStop, SurvivesTheExitOfTheReaderOfItsEvents) {
  const std::string script = "mkfifo events; head -n 1 events > first & exec " RETRYQ_COMMAND
                             " work --json --queue orders -- sh -c 'echo >> handled' > events";
  CommandRun run({"-c", "cd " + File("") + "; " + script}, vhost_.Url(), "", "/bin/sh");
  ASSERT_TRUE(run.Until([&] { return !files_.Read("first").empty(); }));
  for (int i = 0; i < 20; ++i) Publish("an order");
  ASSERT_TRUE(run.Until([&] { return files_.Read("handled").size() == 20; }));
  ASSERT_TRUE(run.Stop());
  EXPECT_TRUE(IsBack(0));
}

}  // namespace retryq::testing::command_stop_test
