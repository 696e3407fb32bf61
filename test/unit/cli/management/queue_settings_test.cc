#include "cli/management/queue_settings.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace retryq::cli {
namespace queue_settings_test {

using Json = nlohmann::json;

Json Queue(const Json& arguments, const Json& policy) {
  return {{"arguments", arguments}, {"effective_policy_definition", policy}};
}

TEST(QueueSettings, AreThoseOfArgumentsAndPolicies) {
  const Json queue = Queue({{"x-message-ttl", 5}}, {{"expires", 6}});
  EXPECT_EQ(QueueSettingOf(queue, "message-ttl")->value, 5);
  EXPECT_TRUE(QueueSettingOf(queue, "message-ttl")->is_argument);
  EXPECT_EQ(QueueSettingOf(queue, "expires")->value, 6);
  EXPECT_FALSE(QueueSettingOf(queue, "expires")->is_argument);
  EXPECT_FALSE(QueueSettingOf(queue, "max-length").has_value());
}

TEST(QueueSettings, AreOfTwoLimitsTheSmallerOneAndElseTheArgument) {
  const Json queue = Queue({{"x-max-length", 9}, {"x-expires", 3}, {"x-overflow", "drop-head"}},
                           {{"max-length", 5}, {"expires", 4}, {"overflow", "reject-publish"}});
  EXPECT_EQ(QueueSettingOf(queue, "max-length")->value, 5);
  EXPECT_EQ(QueueSettingOf(queue, "expires")->value, 3);
  EXPECT_EQ(QueueSettingOf(queue, "overflow")->value, "drop-head");
  EXPECT_FALSE(RefusalOf(queue).has_value());
}

TEST(QueueSettings, LimitLengthInMessagesAndBytes) {
  const Json both = Queue({{"x-max-length-bytes", 7}}, {{"max-length", 5}});
  const std::vector<LengthLimit> limits = LengthLimitsOf(both);
  ASSERT_EQ(limits.size(), 2U);
  EXPECT_STREQ(limits[0].key, "max-length");
  EXPECT_EQ(limits[0].most, 5);
  EXPECT_STREQ(limits[0].reached_by, "messages_ready");
  EXPECT_STREQ(limits[1].key, "max-length-bytes");
  EXPECT_EQ(limits[1].most, 7);
  EXPECT_STREQ(limits[1].reached_by, "message_bytes_ready");
  EXPECT_TRUE(LengthLimitsOf(Queue({{"x-message-ttl", 7}}, {})).empty());
}

TEST(QueueSettings, RefuseWhatAFullQueueDoesNotTake) {
  for (const char* overflow : {"reject-publish", "reject-publish-dlx"}) {
    EXPECT_TRUE(RefusalOf(Queue({{"x-overflow", overflow}}, {}))->is_argument);
    EXPECT_FALSE(RefusalOf(Queue({}, {{"overflow", overflow}}))->is_argument);
  }
  EXPECT_FALSE(RefusalOf(Queue({}, {})).has_value());
}

TEST(QueueSettings, TakeWhateverStandsThere) {
  for (const Json& json : {Json(), Json(7), Json::array(), Json::object(), Queue(7, "x"),
                           Queue({{"x-max-length", "1"}, {"x-overflow", 2}}, Json::array())}) {
    EXPECT_TRUE(LengthLimitsOf(json).empty()) << json;
    EXPECT_FALSE(RefusalOf(json).has_value()) << json;
  }
}

}  // namespace queue_settings_test
}  // namespace retryq::cli
