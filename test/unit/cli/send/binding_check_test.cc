#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "cli/send/send_command.h"

namespace retryq::cli {
namespace binding_check_test {

using Json = nlohmann::json;

bool Leads(const Json& exchange, const std::string& binding_key, const std::string& routing_key) {
  return LeadsToAQueue(exchange, Json::array({{{"routing_key", binding_key}}}), routing_key);
}

TEST(LeadsToAQueue, MatchesTopicsAsTheBrokerDoes) {
  const Json topic = {{"type", "topic"}};
  for (const char* pattern : {"order.placed", "order.*", "*.placed", "#", "order.#", "#.placed",
                              "order.placed.#", "#.order.#.placed", "*.#"}) {
    EXPECT_TRUE(Leads(topic, pattern, "order.placed")) << pattern;
  }
  for (const char* pattern : {"order", "order.", "*", "*.*.*", "order.placed.*", "#.order", ""}) {
    EXPECT_FALSE(Leads(topic, pattern, "order.placed")) << pattern;
  }
}

TEST(LeadsToAQueue, RefusesOnlyWhatIsCertain) {
  EXPECT_TRUE(Leads({{"type", "direct"}}, "k", "k"));
  EXPECT_FALSE(Leads({{"type", "direct"}}, "#", "k"));
  for (const char* type : {"fanout", "headers", "x-random"}) {
    EXPECT_TRUE(Leads({{"type", type}}, "other", "k")) << type;
    EXPECT_FALSE(LeadsToAQueue({{"type", type}}, Json::array(), "k")) << type;
  }
  // An alternate exchange may route the message, and a policy may set one.
  EXPECT_TRUE(Leads({{"type", "direct"}, {"arguments", {{"alternate-exchange", "x"}}}}, "a", "k"));
  EXPECT_TRUE(Leads({{"type", "direct"}, {"policy", "p"}}, "a", "k"));
  EXPECT_TRUE(LeadsToAQueue({{"type", "direct"}}, Json("not a list"), "k"));
}

}  // namespace binding_check_test
}  // namespace retryq::cli
