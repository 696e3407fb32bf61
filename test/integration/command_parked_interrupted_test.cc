// `retryq parked replay` and what may befall it: every message is in the work queue or still
// parked.

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include "integration/parked_run.h"
#include "retryq/event_loop.h"
#include "support/proxy.h"

namespace retryq::testing {
namespace command_parked_interrupted_test {

constexpr int kWindow = 50;

class CommandParkedInterrupted : public ParkedQueueTest {
 protected:
  CommandRun Replay(const Arguments& flags, const std::string& url) {
    Arguments all = ParkedArguments("replay", {"--window", std::to_string(kWindow)});
    all.insert(all.end(), flags.begin(), flags.end());
    return CommandRun(all, url);
  }

  ::testing::AssertionResult AllAreThere(int sent, int duplicates) {
    return ParkedQueueTest::AllAreThere({"orders", "orders.parked"}, sent, duplicates);
  }

  // How many have left the parked queue for the other one.
  bool HasReplayed(int count) { return peer_.Count("orders") >= static_cast<unsigned>(count); }

  bool IsAllBack(int messages) {
    return ParkedQueueTest::IsAllBack("orders.parked", "orders", messages);
  }
};

INSTANTIATE_TEST_SUITE_P(Types, CommandParkedInterrupted, ::testing::Values("classic", "quorum"),
                         QueueTypeName);

TEST_P(CommandParkedInterrupted, KilledAgainAndAgainItLosesNothing) {
  constexpr int kMessages = 1500;
  constexpr int kMostKills = 12;
  ParkMany(kMessages);
  std::minstd_rand random(7);
  int kills = 0;
  for (; kills < kMostKills && peer_.Count("orders.parked") > 0; ++kills) {
    CommandRun run = Replay({"--rate", "1000"}, vhost_.Url());
    const int enough = static_cast<int>(peer_.Count("orders") + random() % 250);
    ASSERT_TRUE(run.Until([&] { return HasReplayed(enough) || run.Wait(absl::ZeroDuration()); }));
    run.Signal(SIGKILL);
    ASSERT_TRUE(run.Wait().has_value());
    ASSERT_TRUE(IsAllBack(kMessages)) << "after " << kills << " kills";
  }
  EXPECT_GE(kills, 2);
  EXPECT_TRUE(AllAreThere(kMessages, kills * kWindow));
}

TEST_P(CommandParkedInterrupted, ASignalDoublesNothing) {
  constexpr int kMessages = 400;
  for (const int signal : {SIGINT, SIGTERM}) {
    ParkMany(kMessages);
    CommandRun run = Replay({"--rate", "100"}, vhost_.Url());
    ASSERT_TRUE(run.Until([this] { return HasReplayed(20); }));
    run.Signal(signal);
    EXPECT_EQ(run.Wait(), 75) << run.Story();
    EXPECT_THAT(run.err(), ::testing::HasSubstr("interrupted"));
    EXPECT_GT(peer_.Count("orders.parked"), 0U);
    EXPECT_TRUE(AllAreThere(kMessages, 0));
  }
}

TEST_P(CommandParkedInterrupted, ASecondSignalEndsItAtOnce) {
  ParkMany(100);
  CommandRun run(ParkedArguments("replay", {"--rate", "1"}), vhost_.Url());
  ASSERT_TRUE(run.Until([this] { return HasReplayed(1); }));
  run.Signal(SIGINT);
  run.Signal(SIGINT);
  EXPECT_EQ(run.Wait(), 75) << run.Story();
  ASSERT_TRUE(IsAllBack(100));
  EXPECT_TRUE(AllAreThere(100, kWindow));
}

TEST_P(CommandParkedInterrupted, ACutConnectionLosesNothing) {
  constexpr int kMessages = 600;
  ParkMany(kMessages);
  amqp::ConnectionOptions broker = amqp::ParseUri(vhost_.Url()).value();
  EventLoop loop;
  Proxy proxy(loop, broker.endpoints.front().port);
  const std::string url = absl::StrCat("amqp://", broker.user, ":", broker.password,
                                       "@127.0.0.1:", proxy.port(), "/", vhost_.name());
  CommandRun run = Replay({"--rate", "100"}, url);
  const auto pump = [&loop] {
    const std::unique_ptr<Timer> timer =
        loop.After(absl::Milliseconds(2), [&loop] { loop.Stop(); });
    ASSERT_TRUE(loop.Run().ok());
  };
  ASSERT_TRUE(run.Until([&] {
    pump();
    return HasReplayed(50);
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

TEST_P(CommandParkedInterrupted, ADeletedParkedQueueIsSaid) {
  ParkMany(500);
  CommandRun run = Replay({"--rate", "50"}, vhost_.Url());
  ASSERT_TRUE(run.Until([this] { return HasReplayed(5); }));
  peer_.Delete("orders.parked");
  EXPECT_EQ(run.Wait(), 69) << run.Story();
  EXPECT_THAT(run.err(), ::testing::HasSubstr("orders.parked"));
}

// Two who replay at once share the messages.
TEST_P(CommandParkedInterrupted, TwoAtOnceReplayEachMessageOnce) {
  constexpr int kMessages = 500;
  ParkMany(kMessages);
  CommandRun first = Replay({"--rate", "500"}, vhost_.Url());
  ASSERT_TRUE(first.Until([this] { return HasReplayed(1); }));  // the second finds a consumer
  CommandRun second = Replay({"--rate", "500"}, vhost_.Url());
  EXPECT_EQ(first.Wait(absl::Seconds(60)), 0) << first.Story();
  EXPECT_EQ(second.Wait(absl::Seconds(60)), 0) << second.Story();
  EXPECT_TRUE(Holds("orders", kMessages));
  EXPECT_TRUE(AllAreThere(kMessages, 0));
}

}  // namespace command_parked_interrupted_test
}  // namespace retryq::testing
