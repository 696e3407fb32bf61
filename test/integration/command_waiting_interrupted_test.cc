// `retryq waiting release` and `park`, and what may befall them: every message is in the target or
// still waits.

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include "integration/waiting_run.h"
#include "retryq/event_loop.h"
#include "support/proxy.h"

namespace retryq::testing {
namespace command_waiting_interrupted_test {

constexpr int kWindow = 50;

class CommandWaitingInterrupted : public WaitingTest {
 protected:
  void SetUp() override {
    WaitingTest::SetUp();
    DeclareDelayQueue();
    peer_.DeclareQueue("orders.parked");
  }

  CommandRun Take(const std::string& command, const Arguments& flags, const std::string& url) {
    Arguments all = WaitingArguments(
        command, {"--window", std::to_string(kWindow), "--management", ManagementUrl()});
    all.insert(all.end(), flags.begin(), flags.end());
    return CommandRun(all, url);
  }

  bool HasArrived(const std::string& target, int count) {
    return peer_.Count(target) >= static_cast<unsigned>(count);
  }
};

INSTANTIATE_TEST_SUITE_P(Kinds, CommandWaitingInterrupted,
                         ::testing::Values("classic", "quorum", "shared"), QueueTypeName);

TEST_P(CommandWaitingInterrupted, KilledAgainAndAgainItLosesNothing) {
  constexpr int kMessages = 1000;
  constexpr int kMostKills = 8;
  WaitMany(kMessages);
  std::minstd_rand random(7);
  int kills = 0;
  for (; kills < kMostKills && peer_.Count(DelayQueue()) > 0; ++kills) {
    CommandRun run = Take("release", {"--rate", "1000"}, vhost_.Url());
    const int enough = static_cast<int>(peer_.Count("orders") + random() % 250);
    ASSERT_TRUE(
        run.Until([&] { return HasArrived("orders", enough) || run.Wait(absl::ZeroDuration()); }));
    run.Signal(SIGKILL);
    ASSERT_TRUE(run.Wait().has_value());
    ASSERT_TRUE(IsAllBack(DelayQueue(), "orders", kMessages)) << "after " << kills << " kills";
  }
  EXPECT_GE(kills, 2);
  EXPECT_TRUE(AllAreThere({"orders", DelayQueue()}, kMessages, kills * kWindow));
}

TEST_P(CommandWaitingInterrupted, ASignalDoublesNothing) {
  constexpr int kMessages = 300;
  for (const char* const command : {"release", "park"}) {
    const std::string target = command == std::string("park") ? "orders.parked" : "orders";
    WaitMany(kMessages);
    CommandRun run = Take(command, {"--rate", "100"}, vhost_.Url());
    ASSERT_TRUE(run.Until([&] { return HasArrived(target, 20); })) << run.Story();
    run.Signal(SIGINT);
    EXPECT_EQ(run.Wait(), 75) << run.Story();
    EXPECT_THAT(run.err(), ::testing::HasSubstr("interrupted"));
    ASSERT_TRUE(IsAllBack(DelayQueue(), target, kMessages));
    EXPECT_GT(peer_.Count(DelayQueue()), 0U);
    EXPECT_TRUE(AllAreThere({target, DelayQueue()}, kMessages, 0));
  }
}

TEST_P(CommandWaitingInterrupted, ASecondSignalEndsItAtOnce) {
  WaitMany(100);
  CommandRun run(WaitingArguments("release", {"--rate", "1"}), vhost_.Url());
  ASSERT_TRUE(run.Until([this] { return HasArrived("orders", 1); }));
  run.Signal(SIGINT);
  run.Signal(SIGINT);
  EXPECT_EQ(run.Wait(), 75) << run.Story();
  ASSERT_TRUE(IsAllBack(DelayQueue(), "orders", 100));
  EXPECT_TRUE(AllAreThere({"orders", DelayQueue()}, 100, kWindow));
}

TEST_P(CommandWaitingInterrupted, ACutConnectionLosesNothing) {
  constexpr int kMessages = 400;
  WaitMany(kMessages);
  amqp::ConnectionOptions broker = amqp::ParseUri(vhost_.Url()).value();
  EventLoop loop;
  Proxy proxy(loop, broker.endpoints.front().port);
  const std::string url = absl::StrCat("amqp://", broker.user, ":", broker.password,
                                       "@127.0.0.1:", proxy.port(), "/", vhost_.name());
  CommandRun run = Take("release", {"--rate", "100"}, url);
  const auto pump = [&loop] {
    const std::unique_ptr<Timer> timer =
        loop.After(absl::Milliseconds(2), [&loop] { loop.Stop(); });
    ASSERT_TRUE(loop.Run().ok());
  };
  ASSERT_TRUE(run.Until([&] {
    pump();
    return HasArrived("orders", 50);
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
  ASSERT_TRUE(IsAllBack(DelayQueue(), "orders", kMessages));
  EXPECT_TRUE(AllAreThere({"orders", DelayQueue()}, kMessages, kWindow));
}

// What comes due meanwhile arrives by itself, and once.
TEST_P(CommandWaitingInterrupted, WhatComesDueMeanwhileArrivesOnce) {
  constexpr int kMessages = 300;
  constexpr absl::Duration kDelay = absl::Seconds(3);
  DeclareDelayQueue(kDelay);
  for (int i = 0; i < kMessages; ++i) Wait(absl::StrCat("m-", i), {.ttl = kDelay});
  CommandRun run = Take("release", {"--rate", "50"}, vhost_.Url());
  EXPECT_EQ(run.Wait(absl::Seconds(60)), 0) << run.Story();
  EXPECT_TRUE(Holds("orders", kMessages));
  EXPECT_TRUE(AllAreThere({"orders", DelayQueue(kDelay)}, kMessages, 0));
}

TEST_P(CommandWaitingInterrupted, TwoAtOnceReleaseEachMessageOnce) {
  constexpr int kMessages = 500;
  WaitMany(kMessages);
  CommandRun first = Take("release", {"--rate", "500"}, vhost_.Url());
  ASSERT_TRUE(
      first.Until([this] { return HasArrived("orders", 1); }));  // the second finds a consumer
  CommandRun second = Take("release", {"--rate", "500"}, vhost_.Url());
  EXPECT_EQ(first.Wait(absl::Seconds(60)), 0) << first.Story();
  EXPECT_EQ(second.Wait(absl::Seconds(60)), 0) << second.Story();
  EXPECT_TRUE(Holds("orders", kMessages));
  EXPECT_TRUE(AllAreThere({"orders", DelayQueue()}, kMessages, 0));
}

}  // namespace command_waiting_interrupted_test
}  // namespace retryq::testing
