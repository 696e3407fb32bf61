// `retryq work --breaker`, and programs that snooze.

#include <nlohmann/json.hpp>

#include "integration/command_run.h"
#include "support/test.h"

namespace retryq::testing::command_breaker_test {

class CommandBreaker : public CommandTest {
 protected:
  static constexpr std::size_t kMessages = 40;

  static Arguments Breaker(Arguments more = {}) {
    more.insert(more.end(), {"--breaker", "--breaker-calls", "5", "--breaker-pause", "1s",
                             "--breaker-probes", "2", "--max-attempts", "0"});
    return more;
  }

  void Send() {
    for (std::size_t i = 0; i < kMessages; ++i) Publish(absl::StrCat("order ", i));
  }

  // An outage that ends when the breaker has opened three times.
  void LiveThroughAnOutage(CommandRun& run) {
    ASSERT_TRUE(run.Says("breaker_probing", 3));
    // Only failed calls count as attempts: five, one for each probe, and the calls that ran at the
    // same time as the last of the five.
    const std::size_t failed = run.events("failed").size();
    EXPECT_LE(failed, 5U + 3U + 8U);
    files_.Write("up", "");
    ASSERT_TRUE(run.Says("breaker_closed"));
    ASSERT_TRUE(run.Says("acked", kMessages));
    ASSERT_TRUE(run.Stop());
    std::size_t attempts = 0;
    for (const auto& event : run.events("acked"))
      attempts += event.at("attempt").get<std::size_t>();
    EXPECT_EQ(attempts, run.events("failed").size());
    EXPECT_THAT(run.events("acked"), SizeIs(kMessages));
    EXPECT_THAT(run.events("parked"), IsEmpty());
    EXPECT_EQ(peer_.Count("orders"), 0U);
  }
};

TEST_F(CommandBreaker, KeepsAttemptsThroughAnOutage) {
  Send();
  CommandRun run =
      Work(Breaker({"--jobs", "2"}), "test -e " + File("up") + " || { echo down >&2; exit 1; }");
  LiveThroughAnOutage(run);
  EXPECT_EQ(run.events("breaker_opened").front().at("error"), "exit 1: down");
  EXPECT_EQ(run.events("breaker_opened").front().at("delay_ms"), 1000);
}

TEST_F(CommandBreaker, KeepsAttemptsThroughAnOutageWithALinesProgram) {
  Send();
  CommandRun run =
      Work(Breaker({"--lines", "--in-flight", "2"}),
           "while IFS= read -r line; do id=${line#*:}; id=${id%%,*}; if test -e " + File("up") +
               "; then echo \"{\\\"id\\\":$id,\\\"ok\\\":true}\"; else "
               "echo \"{\\\"id\\\":$id,\\\"error\\\":\\\"down\\\"}\"; fi; done");
  LiveThroughAnOutage(run);
}

TEST_F(CommandBreaker, RequeuesMessagesThatWaitForAFreeProgram) {
  CommandRun run =
      Work({"--breaker", "--breaker-calls", "1", "--breaker-pause", "1h"}, "sleep 0.05; exit 1");
  Send();
  ASSERT_TRUE(run.Says("breaker_opened"));
  ASSERT_TRUE(run.Until([&] { return peer_.Count("orders") == kMessages; }));
  EXPECT_THAT(run.events("failed").size(), Le(2U));
  EXPECT_TRUE(run.Stop());
}

using CommandSnooze = CommandTest;

TEST_F(CommandSnooze, ASnoozeLineReturnsTheMessageWithoutCountingAnAttempt) {
  CommandRun run = Work({"--max-attempts", "1"},
                        "test -e " + File("open") + " && exit 0; echo > " + File("open") +
                            "; echo closed at night >&2; echo snooze: 100ms >&2; exit 75");
  Publish("an order");
  ASSERT_TRUE(run.Says("acked"));
  ASSERT_TRUE(run.Stop());
  ASSERT_THAT(run.events("snoozed"), SizeIs(1));
  EXPECT_EQ(run.events("snoozed").front().at("delay_ms"), 100);
  EXPECT_EQ(run.events("snoozed").front().at("error"), "closed at night");
  EXPECT_EQ(run.events("acked").front().at("attempt"), 0);
  EXPECT_THAT(run.events("failed"), IsEmpty());
}

TEST_F(CommandSnooze, ALinesAnswerSnoozesOrDiscards) {
  CommandRun run =
      Work({"--lines", "--max-attempts", "1"},
           "seen=; while IFS= read -r line; do id=${line#*:}; id=${id%%,*}; case $seen$line in "
           "*discard*) echo \"{\\\"id\\\":$id,\\\"discard\\\":\\\"too late\\\"}\";; "
           "x*) echo \"{\\\"id\\\":$id,\\\"ok\\\":true}\";; "
           "*) seen=x; echo "
           "\"{\\\"id\\\":$id,\\\"snooze\\\":\\\"80ms\\\",\\\"reason\\\":\\\"busy\\\"}\";; "
           "esac; done");
  Publish("an order");
  ASSERT_TRUE(run.Says("acked"));
  Publish("discard");
  ASSERT_TRUE(run.Says("discarded"));
  ASSERT_TRUE(run.Stop());
  EXPECT_EQ(run.events("snoozed").at(0).at("error"), "busy");
  EXPECT_EQ(run.events("snoozed").at(0).at("delay_ms"), 80);
  EXPECT_EQ(run.events("acked").at(0).at("attempt"), 0);
  EXPECT_EQ(run.events("discarded").at(0).at("error"), "too late");
}

}  // namespace retryq::testing::command_breaker_test
