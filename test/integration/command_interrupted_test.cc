// Interruptions of `retryq parked replay`, `retryq waiting release` and `park`: every message is in
// the target or still in its queue.

#include <csignal>
#include <random>

#include "integration/waiting_run.h"
#include "retryq/event_loop.h"
#include "support/proxy.h"
#include "support/test.h"

namespace retryq::testing::command_interrupted_test {

constexpr int kWindow = 50;

// Messages that wait in each kind of delay queue, and, "parked_…", that are in a parked queue of
// each type.
class CommandInterrupted : public WaitingTest {
 protected:
  static bool IsParked() { return std::string_view(GetParam()).starts_with("parked"); }
  static std::string Source() { return IsParked() ? "orders.parked" : DelayQueue(); }

  void SetUp() override {
    WaitingTest::SetUp();
    if (!IsParked()) DeclareDelayQueue();
    const bool is_quorum = GetParam() == std::string("parked_quorum");
    peer_.DeclareQueue("orders.parked", {{"x-queue-type", is_quorum ? "quorum" : "classic"}});
  }

  void Fill(int messages) {
    if (IsParked()) {
      ParkMany(messages);
    } else {
      WaitMany(messages);
    }
  }

  // Processes all messages; `park` moves waiting messages to another target than the other
  // subcommands.
  static CommandRun Take(const std::string& url, const std::string& rate, bool park = false) {
    Arguments all = {IsParked() ? "parked" : "waiting",
                     IsParked() ? "replay"
                     : park     ? "park"
                                : "release",
                     "--queue",
                     "orders",
                     "--all",
                     "--rate",
                     rate,
                     "--window",
                     std::to_string(kWindow)};
    if (!IsParked()) all.insert(all.end(), {"--management", ManagementUrl()});
    return CommandRun(all, url);
  }

  bool HasArrived(int count, const std::string& target = "orders") {
    return peer_.Count(target) >= static_cast<unsigned>(count);
  }
  bool IsAllBack(int messages, const std::string& target = "orders") {
    return MessagesTest::IsAllBack(Source(), target, messages);
  }
  ::testing::AssertionResult AllAreThere(int sent, int duplicates,
                                         const std::string& target = "orders") {
    return MessagesTest::AllAreThere({target, Source()}, sent, duplicates);
  }
};

INSTANTIATE_TEST_SUITE_P(Kinds, CommandInterrupted,
                         ::testing::Values("classic", "quorum", "shared", "parked_classic",
                                           "parked_quorum"),
                         QueueTypeName);

TEST_P(CommandInterrupted, RepeatedKillsLoseNothing) {
  constexpr int kMessages = 1500;
  constexpr int kMostKills = 12;
  Fill(kMessages);
  std::minstd_rand random(7);
  int kills = 0;
  for (; kills < kMostKills && peer_.Count(Source()) > 0; ++kills) {
    CommandRun run = Take(vhost_.Url(), "1000");
    const int enough = static_cast<int>(peer_.Count("orders") + random() % 250);
    ASSERT_TRUE(run.Until([&] { return HasArrived(enough) || run.Wait(absl::ZeroDuration()); }));
    run.Signal(SIGKILL);
    ASSERT_TRUE(run.Wait().has_value());
    ASSERT_TRUE(IsAllBack(kMessages)) << "after " << kills << " kills";
  }
  EXPECT_GE(kills, 2);
  EXPECT_TRUE(AllAreThere(kMessages, kills * kWindow));
}

TEST_P(CommandInterrupted, ASignalDuplicatesNothing) {
  constexpr int kMessages = 400;
  for (const int signal : {SIGINT, SIGTERM}) {
    const bool park = !IsParked() && signal == SIGTERM;
    const std::string target = park ? "orders.parked" : "orders";
    Fill(kMessages);
    CommandRun run = Take(vhost_.Url(), "100", park);
    ASSERT_TRUE(run.Until([&] { return HasArrived(20, target); })) << run.Story();
    run.Signal(signal);
    EXPECT_EQ(run.Wait(), 75) << run.Story();
    EXPECT_THAT(run.err(), ::testing::HasSubstr("interrupted"));
    ASSERT_TRUE(IsAllBack(kMessages, target));
    EXPECT_GT(peer_.Count(Source()), 0U);
    EXPECT_TRUE(AllAreThere(kMessages, 0, target));
  }
}

TEST_P(CommandInterrupted, ASecondSignalEndsItAtOnce) {
  Fill(100);
  CommandRun run = Take(vhost_.Url(), "1");
  ASSERT_TRUE(run.Until([this] { return HasArrived(1); }));
  run.Signal(SIGINT);
  run.Signal(SIGINT);
  EXPECT_EQ(run.Wait(), 75) << run.Story();
  ASSERT_TRUE(IsAllBack(100));
  EXPECT_TRUE(AllAreThere(100, kWindow));
}

TEST_P(CommandInterrupted, ACutConnectionLosesNothing) {
  constexpr int kMessages = 600;
  Fill(kMessages);
  amqp::ConnectionOptions broker = amqp::ParseUri(vhost_.Url()).value();
  EventLoop loop;
  Proxy proxy(loop, broker.endpoints.front().port);
  const std::string url = absl::StrCat("amqp://", broker.user, ":", broker.password,
                                       "@127.0.0.1:", proxy.port(), "/", vhost_.name());
  CommandRun run = Take(url, "100");
  const auto pump = [&loop] {
    const std::unique_ptr<Timer> timer =
        loop.After(absl::Milliseconds(2), [&loop] { loop.Stop(); });
    ASSERT_TRUE(loop.Run().ok());
  };
  ASSERT_TRUE(run.Until([&] {
    pump();
    return HasArrived(50);
  }));
  proxy.Cut();
  ASSERT_TRUE(CommandRun::WaitUntil(
      [&] {
        pump();
        return run.Wait(absl::ZeroDuration()).has_value();
      },
      absl::Seconds(60)));
  EXPECT_EQ(run.Wait(), 69) << run.Story();
  EXPECT_THAT(run.err(), ::testing::HasSubstr("in the queue again"));
  ASSERT_TRUE(IsAllBack(kMessages));
  EXPECT_TRUE(AllAreThere(kMessages, kWindow));
}

// Two commands at once share the messages.
TEST_P(CommandInterrupted, TwoRunsAtOnceProcessEachMessageOnce) {
  constexpr int kMessages = 500;
  Fill(kMessages);
  CommandRun first = Take(vhost_.Url(), "500");
  ASSERT_TRUE(first.Until([this] { return HasArrived(1); }));  // the second finds a consumer
  CommandRun second = Take(vhost_.Url(), "500");
  EXPECT_EQ(first.Wait(absl::Seconds(60)), 0) << first.Story();
  EXPECT_EQ(second.Wait(absl::Seconds(60)), 0) << second.Story();
  EXPECT_TRUE(Holds("orders", kMessages));
  EXPECT_TRUE(AllAreThere(kMessages, 0));
}

class CommandParkedInterrupted : public CommandInterrupted {};

INSTANTIATE_TEST_SUITE_P(Types, CommandParkedInterrupted,
                         ::testing::Values("parked_classic", "parked_quorum"), QueueTypeName);

TEST_P(CommandParkedInterrupted, ReportsADeletedParkedQueue) {
  Fill(500);
  CommandRun run = Take(vhost_.Url(), "50");
  ASSERT_TRUE(run.Until([this] { return HasArrived(5); }));
  peer_.Delete("orders.parked");
  EXPECT_EQ(run.Wait(), 69) << run.Story();
  EXPECT_THAT(run.err(), ::testing::HasSubstr("orders.parked"));
}

class CommandWaitingInterrupted : public CommandInterrupted {};

INSTANTIATE_TEST_SUITE_P(Kinds, CommandWaitingInterrupted,
                         ::testing::Values("classic", "quorum", "shared"), QueueTypeName);

// Messages that come due meanwhile arrive by themselves, and once.
TEST_P(CommandWaitingInterrupted, MessagesThatComeDueMeanwhileArriveOnce) {
  constexpr int kMessages = 300;
  constexpr absl::Duration kDelay = absl::Seconds(3);
  DeclareDelayQueue(kDelay);
  for (int i = 0; i < kMessages; ++i) Wait(absl::StrCat("m-", i), {.ttl = kDelay});
  CommandRun run = Take(vhost_.Url(), "50");
  EXPECT_EQ(run.Wait(absl::Seconds(60)), 0) << run.Story();
  EXPECT_TRUE(Holds("orders", kMessages));
  EXPECT_TRUE(MessagesTest::AllAreThere({"orders", DelayQueue(kDelay)}, kMessages, 0));
}

}  // namespace retryq::testing::command_interrupted_test
