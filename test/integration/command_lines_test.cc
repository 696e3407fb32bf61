// `retryq work --lines`: programs that keep running.

#include <filesystem>
#include <nlohmann/json.hpp>

#include "integration/command_run.h"
#include "support/test.h"

namespace retryq::testing::command_lines_test {

class CommandLines : public CommandTest {
 protected:
  // A shell that reads line after line: `$line` is the line, and `$id` its id.
  static std::string ForEach(const std::string& script) {
    return "while IFS= read -r line; do id=${line#*:}; id=${id%%,*}; " + script + "; done";
  }
  static std::string Say(const std::string& answer) {
    return "echo \"{\\\"id\\\":$id," + answer + "}\"";
  }
  static inline const std::string kOk = Say("\\\"ok\\\":true");

  CommandRun Lines(Arguments flags, const std::string& script) {
    flags.insert(flags.begin(), "--lines");
    return Work(flags, script);
  }
};

TEST_F(CommandLines, KeepsAChildForAllMessages) {
  CommandRun run = Lines({}, "echo >> " + File("starts") + "; " +
                                 ForEach("echo \"$line\" >> " + File("got") + "; " + kOk));
  for (int i = 0; i < 50; ++i) Publish(absl::StrCat("order ", i));
  ASSERT_TRUE(run.Says("acked", 50));
  ASSERT_TRUE(run.Stop());
  EXPECT_EQ(files_.Read("starts"), "\n");
  const std::string got = files_.Read("got");
  const auto first = nlohmann::json::parse(got.substr(0, got.find('\n')));
  EXPECT_EQ(first.at("body"), "order 0");
  EXPECT_EQ(first.at("queue"), "orders");
  EXPECT_EQ(first.at("routing_key"), "orders");
  EXPECT_EQ(first.at("max_attempts"), 25);
  EXPECT_EQ(peer_.Count("orders"), 0U);
  EXPECT_THAT(run.events("child_ended"), IsEmpty());
}

TEST_F(CommandLines, SettlesMessagesAsTheAnswersRequest) {
  CommandRun run =
      Lines({"--max-attempts", "3"},
            ForEach("case $line in "
                    "*'\"attempt\":1,'*) " +
                    kOk +
                    ";; "
                    "*'\"body\":\"park\"'*) " +
                    Say("\\\"park\\\":\\\"no customer\\\"") +
                    ";; "
                    "*'\"body\":\"later\"'*) " +
                    Say("\\\"error\\\":\\\"busy\\\",\\\"retry_after\\\":\\\"120ms\\\"") +
                    ";; "
                    "*) " +
                    Say("\\\"error\\\":\\\"down\\\"") + ";; esac"));
  for (const char* body : {"park", "later", "fail"}) Publish(body);
  ASSERT_TRUE(run.Says("acked", 2));
  ASSERT_TRUE(run.Says("parked"));
  ASSERT_TRUE(run.Stop());
  EXPECT_EQ(ParkedError(), "no customer");
  std::map<std::string, int> retried;
  for (const auto& event : run.events("retried")) {
    retried[event.at("error").get<std::string>()] = event.at("delay_ms").get<int>();
  }
  EXPECT_EQ(retried, (std::map<std::string, int>{{"busy", 120}, {"down", 50}}));
}

TEST_F(CommandLines, RetriesOnlyTheMessageThatKilledTheChild) {
  CommandRun run =
      Lines({"--in-flight", "8", "--max-attempts", "2"},
            ForEach("case $line in *poison*) echo out of paper >&2; exit 3;; esac; " + kOk));
  for (const char* body : {"one", "poison", "two", "three"}) Publish(body);
  ASSERT_TRUE(run.Says("parked"));
  ASSERT_TRUE(run.Says("acked", 3));
  ASSERT_TRUE(run.Stop());
  EXPECT_THAT(run.events("failed"), SizeIs(2));
  EXPECT_EQ(run.events("child_ended").at(0).at("error"), "exit 3: out of paper");
  EXPECT_EQ(ParkedError(), "exit 3: out of paper");
}

TEST_F(CommandLines, IgnoresUnknownFieldsWithOneWarning) {
  CommandRun run = Lines({}, ForEach(Say("\\\"ok\\\":true,\\\"extra\\\":1")));
  for (const char* body : {"one", "two"}) Publish(body);
  ASSERT_TRUE(run.Says("acked", 2));
  ASSERT_TRUE(run.Stop());
  EXPECT_THAT(run.events("odd_answer"), SizeIs(1));
  EXPECT_THAT(run.events("child_ended"), IsEmpty());
}

TEST_F(CommandLines, KillsAChildThatTakesTooLong) {
  CommandRun run = Lines({"--timeout", "2s", "--max-attempts", "1"},
                         ForEach("case $line in *'an order'*) sleep 600 & " +
                                 NotePid("child", "$!") + "; wait;; esac; " + kOk));
  Publish("first");
  ASSERT_TRUE(run.Says("acked"));
  Publish("an order");
  ASSERT_TRUE(run.Says("parked"));
  ASSERT_TRUE(run.Stop());
  EXPECT_THAT(ParkedError(), HasSubstr("timed out after 2s"));
  EXPECT_TRUE(IsGone("child"));
}

TEST_F(CommandLines, FinishesStartedMessagesAndRequeuesTheRest) {
  CommandRun run = Lines({}, ForEach("echo > " + File("got") + "; until test -e " + File("go") +
                                     "; do sleep 0.01; done; " + kOk) +
                                 "; echo > " + File("ended"));
  for (int i = 0; i < 10; ++i) Publish("an order");
  ASSERT_TRUE(run.Until([&] { return !files_.Read("got").empty(); }));
  run.Signal(SIGTERM);
  ASSERT_TRUE(run.Says("stopping"));
  files_.Write("go", "");
  EXPECT_EQ(run.Wait(), 0) << run.Story();
  EXPECT_THAT(run.events("acked"), SizeIs(1)) << run.Story();
  EXPECT_EQ(files_.Read("ended"), "\n") << "its stdin was not closed";
  EXPECT_TRUE(CommandRun::WaitUntil([&] { return peer_.Count("orders") == 9; }, absl::Seconds(10)));
}

TEST_F(CommandLines, PausesWithoutCostingAttemptsIfTheProgramStartsNoMessage) {
  CommandRun run = Lines({"--max-attempts", "1"}, "echo Starting; exit 1");
  for (int i = 0; i < 3; ++i) Publish("an order");
  ASSERT_TRUE(run.Says("child_ended"));
  ASSERT_TRUE(run.Says("paused"));
  EXPECT_THAT(run.events("paused")[0].at("error").get<std::string>(), HasSubstr("Starting"));
  ASSERT_TRUE(run.Stop());
  EXPECT_THAT(run.events("failed"), IsEmpty()) << run.Story();
  EXPECT_TRUE(CommandRun::WaitUntil([&] { return peer_.Count("orders") == 3; }, absl::Seconds(10)));
}

}  // namespace retryq::testing::command_lines_test
