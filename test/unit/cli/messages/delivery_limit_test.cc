#include "cli/messages/delivery_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace retryq::cli {
namespace delivery_limit_test {

using ::testing::HasSubstr;
using Json = nlohmann::json;

std::optional<std::int64_t> CountFor(const std::string& queue) {
  const auto count = MoveAt(Json::parse(queue), "q");
  EXPECT_TRUE(count.ok()) << count.status();
  return count.value_or(std::nullopt);
}

TEST(DeliveryLimit, IsNoneForAClassicQueue) {
  EXPECT_EQ(CountFor(R"({"type":"classic","effective_policy_definition":{"delivery-limit":3}})"),
            std::nullopt);
}

TEST(DeliveryLimit, IsKeptToByHalf) {
  EXPECT_EQ(CountFor(R"({"type":"quorum","delivery_limit":20})"), 10);
  EXPECT_EQ(CountFor(R"({"type":"quorum","delivery_limit":3})"), 1);
  EXPECT_EQ(CountFor(R"({"type":"quorum","delivery_limit":2})"), 1);
}

TEST(DeliveryLimit, ThatIsNoneAsksForNothing) {
  EXPECT_EQ(CountFor(R"({"type":"quorum","delivery_limit":-1})"), std::nullopt);
  EXPECT_EQ(CountFor(R"({"type":"quorum","arguments":{"x-delivery-limit":-1},)"
                     R"("effective_policy_definition":{}})"),
            std::nullopt);
}

TEST(DeliveryLimit, ComesFromArgumentsAndPolicies) {
  EXPECT_EQ(CountFor(R"({"type":"quorum","effective_policy_definition":{}})"), 10);
  EXPECT_EQ(CountFor(R"({"type":"quorum","effective_policy_definition":[]})"), 10);
  EXPECT_EQ(CountFor(R"({"type":"quorum","arguments":{"x-delivery-limit":8},)"
                     R"("effective_policy_definition":{"delivery-limit":6}})"),
            3);
  EXPECT_EQ(CountFor(R"({"type":"quorum","arguments":{"x-delivery-limit":-1},)"
                     R"("effective_policy_definition":{"delivery-limit":6}})"),
            3);
}

TEST(DeliveryLimit, ThatIsNotKnownIsRefused) {
  for (const char* queue : {"null", "[]", "7", R"({"type":"quorum"})", R"({"type":7})",
                            R"({"type":"quorum","arguments":{"x-delivery-limit":20}})",
                            R"({"type":"quorum","delivery_limit":"many"})"}) {
    const absl::Status status = MoveAt(Json::parse(queue), "orders.parked").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << queue;
    EXPECT_THAT(std::string(status.message()), HasSubstr("limit of queue 'orders.parked' is not"));
  }
}

TEST(DeliveryLimit, ThatIsTooLowIsRefused) {
  for (const char* queue :
       {R"({"type":"quorum","delivery_limit":1})", R"({"type":"quorum","delivery_limit":0})"}) {
    const absl::Status status = MoveAt(Json::parse(queue), "orders.parked").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()), HasSubstr("queue 'orders.parked'"));
  }
}

TEST(DeliveryLimit, OfAStreamIsBesideThePoint) {
  const absl::Status status = MoveAt(Json{{"type", "stream"}}, "orders.parked").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("'orders.parked' is a stream"));
}

TEST(Figures, AreThereOnceTheBrokerHasThem) {
  const auto figures = FiguresOf(Json{{"messages", 7}, {"messages_unacknowledged", 3}});
  ASSERT_TRUE(figures.has_value());
  EXPECT_EQ(figures->all, 7U);
  EXPECT_EQ(figures->unacked, 3U);
  for (const char* queue : {"null", R"({"messages":7})", R"({"messages_unacknowledged":3})",
                            R"({"messages":-1,"messages_unacknowledged":3})"}) {
    EXPECT_FALSE(FiguresOf(Json::parse(queue)).has_value()) << queue;
  }
}

}  // namespace delivery_limit_test
}  // namespace retryq::cli
