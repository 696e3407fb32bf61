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

TEST(DeliveryLimit, ThatIsNotKnownIsTakenForALowOne) {
  for (const char* queue : {"null", "[]", "7", R"({"type":"quorum"})", R"({"type":7})",
                            R"({"type":"quorum","arguments":{"x-delivery-limit":20}})",
                            R"({"type":"quorum","delivery_limit":"many"})"}) {
    EXPECT_EQ(CountFor(queue), 1) << queue;
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

TEST(DeliveryLimit, OfABrokerWithoutManagementIsTakenForALowOne) {
  const auto count = FindMoveAt({.endpoint = {.host = "127.0.0.1", .port = 1}}, "/", "q");
  ASSERT_TRUE(count.ok()) << count.status();
  EXPECT_EQ(*count, 1);
}

}  // namespace delivery_limit_test
}  // namespace retryq::cli
