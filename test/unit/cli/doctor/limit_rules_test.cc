#include "cli/doctor/limit_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "retryq/delay_queue_declaration.h"

namespace retryq::cli {
namespace limit_rules_test {

using ::testing::HasSubstr;
using Json = nlohmann::json;
using Result = Finding::Result;

class LimitRules : public ::testing::Test {
 protected:
  LimitRules() {
    options_.queue = "orders";
    options_.parked_queue = "orders.parked";
  }

  static Json Limits(const Json& value) {
    return Json::array({{{"vhost", "/"}, {"user", "guest"}, {"value", value}}});
  }
  std::vector<Finding> OfVhost(const Json& limits, const Json& connections, std::int64_t queues = 1,
                               std::int64_t own = 0) {
    return CheckLimits({.of_vhost = limits,
                        .of_user = Json::array(),
                        .connections = connections,
                        .queues = queues,
                        .own_queues = own},
                       options_);
  }
  std::vector<Finding> OfUser(const Json& limits, const Json& connections) {
    return CheckLimits({.of_vhost = Json::array(), .of_user = limits, .connections = connections},
                       options_);
  }
  static Result ResultOf(const std::vector<Finding>& findings) {
    EXPECT_LE(findings.size(), 1U);
    return findings.empty() ? Result::kOk : findings.front().result;
  }
  Result OfQueues(std::int64_t limit, std::int64_t queues, std::int64_t own = 0) {
    return ResultOf(OfVhost(Limits({{"max-queues", limit}}), Json::array(), queues, own));
  }
  static Json Connections(int count, const std::string& name = "worker") {
    Json connections = Json::array();
    for (int i = 0; i < count; ++i) {
      connections.push_back({{"user", "guest"},
                             {"vhost", "/"},
                             {"channels", 3},
                             {"client_properties", {{"connection_name", name}}}});
    }
    connections.push_back({{"user", "other"}, {"vhost", "other"}, {"channels", 100}});
    return connections;
  }

  DoctorOptions options_;
};

TEST_F(LimitRules, CountTheQueuesThatAPolicyMayNeed) {
  const auto delays =
      static_cast<std::int64_t>(DelayQueueTtls(options_.retry, options_.delay_queues).size());
  EXPECT_EQ(MostQueuesOf(options_), delays + 1);
  options_.work_exchange = "shop";
  EXPECT_EQ(MostQueuesOf(options_), 2 * delays + 1);
  options_.delay_queues.queue_type = QueueType::kQuorum;
  EXPECT_EQ(MostQueuesOf(options_), 6 * delays + 1);
  options_.delay_queues.declare = false;
  EXPECT_EQ(MostQueuesOf(options_), 2 * delays + 1);
}

TEST_F(LimitRules, MindALimitOfQueuesThatLeavesTooLittleRoom) {
  const std::int64_t most = MostQueuesOf(options_);
  EXPECT_EQ(OfQueues(10 + most, 10), Result::kOk);
  EXPECT_EQ(OfQueues(9 + most, 10), Result::kWarning);
  EXPECT_EQ(OfQueues(9 + most, 10, /*own=*/1), Result::kOk);
  EXPECT_EQ(OfQueues(10, 10), Result::kProblem);
  EXPECT_EQ(OfQueues(11, 10), Result::kWarning);
  EXPECT_EQ(OfQueues(-1, 1000), Result::kOk);
  // Its neighbours stay as they are.
  const auto findings =
      OfVhost(Limits({{"max-queues", 10}, {"max-connections", 7}}), Json::array(), 10);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_THAT(findings[0].finding, HasSubstr("vhost '/' may have 10 queues and has 10"));
  EXPECT_EQ(findings[0].remedy,
            absl::StrCat("rabbitmqctl set_vhost_limits -p '/' '{\"max-connections\":7,"
                         "\"max-queues\":",
                         20 + most, "}'"));
}

TEST_F(LimitRules, MindLimitsOfConnectionsAndChannels) {
  const auto of_user = [&](int limit, const Json& connections) {
    return ResultOf(OfUser(Limits({{"max-connections", limit}}), connections));
  };
  EXPECT_EQ(of_user(6, Connections(4)), Result::kOk);
  EXPECT_EQ(of_user(5, Connections(4)), Result::kWarning);
  EXPECT_EQ(of_user(4, Connections(4)), Result::kWarning);
  EXPECT_EQ(of_user(1, Connections(0)), Result::kProblem);
  EXPECT_EQ(of_user(2, Connections(1, "retryq doctor")), Result::kOk);

  const auto vhost = OfVhost(Limits({{"max-connections", 3}}), Connections(2));
  ASSERT_EQ(vhost.size(), 1U);
  EXPECT_THAT(vhost[0].remedy, HasSubstr("set_vhost_limits -p '/' '{\"max-connections\":22}'"));
  const auto channels = OfUser(Limits({{"max-channels", 10}}), Connections(2));
  ASSERT_EQ(channels.size(), 1U);
  EXPECT_EQ(channels[0].result, Result::kWarning);
  EXPECT_THAT(channels[0].finding, HasSubstr("user 'guest' may have 10 channels and has 6"));
  EXPECT_THAT(channels[0].remedy, HasSubstr("set_user_limits 'guest' '{\"max-channels\":66}'"));
  EXPECT_EQ(OfUser(Limits({{"max-channels", 12}}), Connections(2)).size(), 0U);
  // The limits of one are not the other's.
  EXPECT_EQ(OfVhost(Limits({{"max-channels", 1}}), Connections(2)).size(), 0U);
  EXPECT_EQ(OfUser(Limits({{"max-queues", 0}}), Connections(2)).size(), 0U);
}

TEST_F(LimitRules, TakeWhateverTheBrokerSays) {
  for (const Json& json : {Json(), Json(7), Json::array(), Json::array({7}),
                           Json::array({{{"value", 7}}}), Limits({{"max-queues", "7"}})}) {
    EXPECT_EQ(OfVhost(json, json).size(), 0U) << json;
    EXPECT_EQ(OfUser(json, json).size(), 0U) << json;
  }
}

TEST_F(LimitRules, SayThatALimitIsReached) {
  const Finding finding = LimitReached(absl::ResourceExhaustedError("406 … is reached"));
  EXPECT_EQ(finding.result, Result::kProblem);
  EXPECT_THAT(finding.remedy, HasSubstr("cluster_exchange_limit"));
}

}  // namespace limit_rules_test
}  // namespace retryq::cli
