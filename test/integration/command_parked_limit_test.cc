// `retryq parked` on quorum queues that drop what they have taken back too often.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "integration/parked_run.h"

namespace retryq::testing {
namespace command_parked_limit_test {

struct Limit {
  int limit;      // 0: none is given
  bool is_known;  // whether the management API can be asked
};

class CommandParkedLimit : public ParkedTest, public ::testing::WithParamInterface<Limit> {
 protected:
  void SetUp() override {
    ParkedTest::SetUp();
    amqp::Table arguments = {{"x-queue-type", "quorum"}};
    if (GetParam().limit > 0) arguments.Set("x-delivery-limit", GetParam().limit);
    peer_.DeclareQueue("orders.parked", arguments);
  }

  // More often than the limit allows; where none is given, newer brokers have one of 20.
  static int Often() { return (GetParam().limit == 0 ? 20 : GetParam().limit) + 5; }

  End Look(const std::string& command, Arguments flags = {}) {
    const std::string nobody = "http://127.0.0.1:1";
    flags.insert(flags.end(), {"--management", GetParam().is_known ? ManagementUrl() : nobody});
    return Parked(command, flags);
  }
};

std::string LimitName(const ::testing::TestParamInfo<Limit>& info) {
  const std::string limit = info.param.limit == 0 ? "Default" : std::to_string(info.param.limit);
  return limit + (info.param.is_known ? "" : "Unknown");
}

INSTANTIATE_TEST_SUITE_P(Limits, CommandParkedLimit,
                         ::testing::Values(Limit{0, true}, Limit{0, false}, Limit{2, true},
                                           Limit{2, false}, Limit{3, true}, Limit{3, false},
                                           Limit{20, true}),
                         LimitName);

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

TEST_P(CommandParkedLimit, AMessageIsMovedAsItIs) {
  amqp::Table headers = PastOf("m-1", "no");
  headers.Set("x-death", amqp::Array{amqp::Table{{"queue", "elsewhere"}}});
  Park("body", headers, {.content_type = "text/x", .message_id = "m-1"});
  for (int i = 0; i < 4; ++i) ASSERT_EQ(Look("list").code, 0);
  const amqp::MessagePtr message = peer_.Get("orders.parked");
  ASSERT_NE(message, nullptr);
  EXPECT_EQ(message->body, "body");
  EXPECT_EQ(message->properties.content_type, "text/x");
  EXPECT_EQ(message->properties.message_id, "m-1");
  for (const auto& [name, value] : headers.fields()) {
    EXPECT_TRUE(message->properties.headers->Find(name).has_value()) << name;
  }
}

class CommandParkedLowLimit : public ParkedTest, public ::testing::WithParamInterface<int> {};

INSTANTIATE_TEST_SUITE_P(Limits, CommandParkedLowLimit, ::testing::Values(0, 1));

TEST_P(CommandParkedLowLimit, IsRefusedBeforeAnyMessageIsAtRisk) {
  peer_.DeclareQueue("orders.parked",
                     {{"x-queue-type", "quorum"}, {"x-delivery-limit", GetParam()}});
  ParkMany(3);
  // Until the broker shows all there is about it.
  ASSERT_TRUE(CommandRun::WaitUntil(
      [this] { return vhost_.Queue("orders.parked")->contains("effective_policy_definition"); },
      absl::Seconds(60)));
  for (const char* command : {"list", "show", "replay", "drop"}) {
    const End end =
        Parked(command, command == std::string("drop") ? Arguments{"--yes"} : Arguments{});
    EXPECT_EQ(end.code, 69) << command;
    EXPECT_THAT(end.err, ::testing::HasSubstr("has a delivery limit of")) << command;
  }
  EXPECT_EQ(TakeAll("orders.parked").size(), 3U);
}

}  // namespace command_parked_limit_test
}  // namespace retryq::testing
