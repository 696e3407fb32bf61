// `retryq parked` on quorum queues that drop messages that were requeued too often.

#include <nlohmann/json.hpp>

#include "integration/parked_run.h"
#include "support/canned_server.h"
#include "support/test.h"
#include "unit/amqp/run_until.h"

namespace retryq::testing::command_parked_limit_test {

// The limit; 0: none is given.
class CommandParkedLimit : public ParkedTest, public ::testing::WithParamInterface<int> {
 protected:
  void SetUp() override {
    ParkedTest::SetUp();
    amqp::Table arguments = {{"x-queue-type", "quorum"}};
    if (GetParam() > 0) arguments.Set("x-delivery-limit", GetParam());
    peer_.DeclareQueue("orders.parked", arguments);
  }

  // More often than the limit allows; where none is given, newer brokers have one of 20.
  static int Often() { return (GetParam() == 0 ? 20 : GetParam()) + 5; }

  End Look(const std::string& command, Arguments flags = {}) { return Parked(command, flags); }
};

INSTANTIATE_TEST_SUITE_P(Limits, CommandParkedLimit, ::testing::Values(0, 2, 3, 20));

TEST_P(CommandParkedLimit, DiscardsNothingHoweverOftenItIsListed) {
  ParkMany(5);
  for (int i = 0; i < Often(); ++i) {
    const End end = Look("list");
    ASSERT_EQ(end.code, 0) << end.err;
    ASSERT_THAT(end.out, ::testing::HasSubstr("5 of 5 messages")) << "the " << i << "th time";
  }
  EXPECT_EQ(TakeAll("orders.parked").size(), 5U);
}

TEST_P(CommandParkedLimit, DiscardsNothingHoweverOftenOneIsShown) {
  ParkMany(5);
  for (int i = 0; i < Often(); ++i) ASSERT_EQ(Look("show").code, 0);
  for (int i = 0; i < Often(); ++i)
    ASSERT_EQ(Look("list", {"--error", "other", "--limit", "1"}).code, 0);
  EXPECT_EQ(TakeAll("orders.parked").size(), 5U);
}

class CommandParkedLowLimit : public ParkedTest, public ::testing::WithParamInterface<int> {};

INSTANTIATE_TEST_SUITE_P(Limits, CommandParkedLowLimit, ::testing::Values(0, 1));

TEST_P(CommandParkedLowLimit, IsRefusedBeforeAnyMessageIsAtRisk) {
  peer_.DeclareQueue("orders.parked",
                     {{"x-queue-type", "quorum"}, {"x-delivery-limit", GetParam()}});
  ParkMany(3);
  for (const char* command : {"list", "show", "replay", "drop"}) {
    const End end = Parked(command);
    EXPECT_EQ(end.code, 69) << command;
    EXPECT_THAT(end.err, ::testing::HasSubstr("has a delivery limit of")) << command;
  }
  EXPECT_EQ(TakeAll("orders.parked").size(), 3U);
}

class CommandParkedWithoutManagement : public ParkedTest {
 protected:
  End List() { return Parked("list", {"--management", "http://127.0.0.1:1"}); }
};

TEST_F(CommandParkedWithoutManagement, RefusesAQuorumQueueWithAnUnknownLimit) {
  peer_.DeclareQueue("orders.parked", {{"x-queue-type", "quorum"}, {"x-delivery-limit", 0}});
  ParkMany(3);
  for (int i = 0; i < 2; ++i) {
    const End end = List();
    EXPECT_EQ(end.code, 69);
    EXPECT_THAT(end.err, ::testing::HasSubstr("delivery limit of queue 'orders.parked' is not"));
  }
  EXPECT_EQ(TakeAll("orders.parked").size(), 3U);
}

// The API of another broker does not know the queue.
TEST_F(CommandParkedWithoutManagement, RefusesAQuorumQueueThatTheManagementApiDoesNotKnow) {
  peer_.DeclareQueue("orders.parked", {{"x-queue-type", "quorum"}, {"x-delivery-limit", 0}});
  ParkMany(3);
  EventLoop loop;
  const CannedServer server(loop, HttpAnswer("404 Not Found", R"({"error":"Object Not Found"})"));
  const std::string other = "http://127.0.0.1:" + std::to_string(server.port());
  for (int i = 0; i < 2; ++i) {
    CommandRun list(ParkedArguments("list", {"--management", other}), vhost_.Url());
    amqp::RunUntil(loop, [&] { return list.Wait(absl::ZeroDuration()).has_value(); });
    EXPECT_THAT(list.err(), ::testing::HasSubstr("delivery limit of queue 'orders.parked' is not"));
  }
  EXPECT_EQ(TakeAll("orders.parked").size(), 3U);
}

TEST_F(CommandParkedWithoutManagement, ReadsAClassicQueue) {
  peer_.DeclareQueue("orders.parked");
  ParkMany(3);
  EXPECT_THAT(List().out, ::testing::HasSubstr("3 of 3 messages"));
}

}  // namespace retryq::testing::command_parked_limit_test
