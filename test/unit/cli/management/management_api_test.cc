#include "cli/management/management_api.h"

#include <nlohmann/json.hpp>

#include "cli/text/json_line.h"
#include "support/canned_server.h"
#include "support/test.h"

namespace retryq::cli::management_api_test {

using ::retryq::testing::CannedServer;
using ::retryq::testing::HttpAnswer;
using Json = nlohmann::json;

class ManagementApiTest : public ::testing::Test {
 protected:
  static ManagementUrl To(const CannedServer& server) {
    return {.endpoint = {.host = "127.0.0.1", .port = server.port()},
            .user = "alice",
            .password = "s3cret"};
  }
  absl::StatusOr<ManagementApi::Answer> Answered(const std::string& status,
                                                 const std::string& body) {
    const CannedServer server(loop_, HttpAnswer(status, body));
    return ManagementApi(loop_, To(server)).Get("/overview");
  }

  EventLoop loop_;
};

// RabbitMQ computes its Date header once a second, so the header can be up to two seconds old.
TEST_F(ManagementApiTest, KnowsHowInexactTheClockOfTheBrokerIs) {
  const absl::Time before = absl::Now();
  const auto answer = Answered("200 OK", R"({"rabbitmq_version":"4.3.6"})");
  const absl::Time after = absl::Now();
  ASSERT_TRUE(answer.ok() && answer->clock) << answer.status();
  const auto& [difference, error] = *answer->clock;
  EXPECT_LE(difference - error, answer->at - before);
  EXPECT_GE(difference + error, answer->at + absl::Seconds(2) - after);
}

TEST_F(ManagementApiTest, ExplainsErrors) {
  using Code = absl::StatusCode;
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  struct Case {
    std::string status;
    std::string body;
    Code code;
    std::string text;
  };
  for (const Case& each : {
           Case{"401 Unauthorized", R"({"reason":"Login failed"})", Code::kUnauthenticated,
                "user 'alice' was refused (Login failed)"},
           Case{"401 Unauthorized", R"({"reason":["\u0000",7]})", Code::kUnauthenticated,
                "was refused; name a user and password of the management API with --management"},
           Case{"401 Unauthorized", R"({"reason":"Not management user"})", Code::kPermissionDenied,
                "set_user_tags"},
           Case{"401 Unauthorized", R"({"reason":"Not monitor user"})", Code::kPermissionDenied,
                "'monitoring'"},
           Case{"401 Unauthorized", R"({"reason":"User not authorised to access virtual host"})",
                Code::kPermissionDenied, "set_permissions"},
           Case{"403 Forbidden", "forbidden", Code::kUnauthenticated, "refused"},
           Case{"404 Not Found", R"({"reason":"Not Found"})", Code::kNotFound,
                "/overview does not exist"},
           Case{"404 Not Found", "<html>", Code::kFailedPrecondition, "rabbitmq_management"},
           Case{"400 Bad Request", R"({"error":"page_out_of_range","reason":"page: 2"})",
                Code::kOutOfRange, "(page: 2)"},
           Case{"400 Bad Request", R"({"error":"bad_request"})", Code::kUnavailable, "400"},
           Case{"500 Internal", R"({"reason":"line\nbreak)" + std::string(2000, 'x') + "\"}",
                Code::kUnavailable, "500 (line\\u{A}break"},
           Case{"200 OK", "<html>hello</html>", Code::kFailedPrecondition, "is not JSON"},
           Case{"200 OK", "", Code::kFailedPrecondition, "is not JSON"},
           Case{"200 OK", "\xff\xfe\"", Code::kFailedPrecondition, "is not JSON"},
           Case{"200 OK", deep, Code::kFailedPrecondition, "nests deeper than 100 levels"},
           Case{"200 OK", std::string((std::size_t{64} << 20) + 1, ' '), Code::kFailedPrecondition,
                "larger than 64 MiB; enable the management plugin"},
           Case{"200 OK", "null", Code::kFailedPrecondition, "has no rabbitmq_version"},
           Case{"200 OK", "[]", Code::kFailedPrecondition, "has no rabbitmq_version"},
           Case{"200 OK", R"({"rabbitmq_version":3})", Code::kFailedPrecondition,
                "has no rabbitmq_version"},
           Case{"503 Service Unavailable", R"({"arguments":)" + deep + "}",
                Code::kFailedPrecondition, "nests deeper than 100 levels"},
       }) {
    const absl::Status error = Answered(each.status, each.body).status();
    EXPECT_EQ(error.code(), each.code) << error;
    EXPECT_THAT(std::string(error.message()),
                AllOf(HasSubstr(each.text), HasSubstr("http://127.0.0.1:"),
                      ::testing::Not(HasSubstr("s3cret"))));
  }
}

TEST_F(ManagementApiTest, LooksAtSeveralPathsWithoutRunningTheLoop) {
  const CannedServer server(loop_, HttpAnswer("200 OK", R"({"n":7})"));
  ManagementApi api(loop_, To(server));
  std::int64_t sum = 0;
  api.Look<std::int64_t>(
      [](const ManagementApi::Fetch& get) {
        std::int64_t all = 0;
        for (const char* path : {"/a", "/b", "/a"}) {
          const auto answer = get(path);
          if (!answer.ok()) return std::int64_t{-1};
          all += IntegerOf(answer->json, "n").value_or(0);
        }
        return all;
      },
      [&](std::int64_t result) {
        sum = result;
        loop_.Stop();
      });
  ASSERT_TRUE(loop_.Run().ok());
  EXPECT_EQ(sum, 21);
  EXPECT_EQ(server.requests().size(), 2U);
}

TEST_F(ManagementApiTest, ReportsThatTheListOfQueuesIsNotComplete) {
  auto server = std::make_unique<CannedServer>(
      loop_, HttpAnswer("200 OK", R"({"items":[{"name":"retry.1000"}],"page_count":2})"));
  ManagementApi api(loop_, To(*server));
  const absl::Status visited = VisitQueues(
      api, "/", "retry.", [&](const Json& /*queue*/, absl::Time /*at*/) { server.reset(); });
  EXPECT_EQ(visited.code(), absl::StatusCode::kUnavailable) << visited;
}

TEST(QueueSettings, AreTheStricterLimitAndOtherwiseTheArgument) {
  const Json queue = {
      {"arguments",
       {{"x-max-length", 9}, {"x-expires", 3}, {"x-overflow", "drop-head"}, {"x-message-ttl", 5}}},
      {"effective_policy_definition",
       {{"max-length", 5},
        {"expires", 4},
        {"overflow", "reject-publish"},
        {"max-length-bytes", 7}}}};
  EXPECT_EQ(QueueSettingOf(queue, "message-ttl")->value, 5);
  EXPECT_TRUE(QueueSettingOf(queue, "message-ttl")->is_argument);
  EXPECT_FALSE(QueueSettingOf(queue, "max-length")->is_argument);
  EXPECT_EQ(QueueSettingOf(queue, "expires")->value, 3);
  EXPECT_EQ(QueueSettingOf(queue, "overflow")->value, "drop-head");
  EXPECT_FALSE(QueueSettingOf(queue, "delivery-limit").has_value());
  EXPECT_FALSE(RefusalOf(queue).has_value());
  const std::vector<LengthLimit> limits = LengthLimitsOf(queue);
  ASSERT_EQ(limits.size(), 2U);
  EXPECT_STREQ(limits[0].key, "max-length");
  EXPECT_EQ(limits[0].most, 5);
  EXPECT_STREQ(limits[0].reached_by, "messages_ready");
  EXPECT_STREQ(limits[1].reached_by, "message_bytes_ready");
  for (const char* overflow : {"reject-publish", "reject-publish-dlx"}) {
    EXPECT_TRUE(RefusalOf({{"arguments", {{"x-overflow", overflow}}}})->is_argument);
  }
  for (const Json& json : {Json(), Json(7), Json::array(), Json::object(),
                           Json({{"arguments", {{"x-max-length", "1"}, {"x-overflow", 2}}},
                                 {"effective_policy_definition", "x"}})}) {
    EXPECT_TRUE(LengthLimitsOf(json).empty()) << json;
    EXPECT_FALSE(RefusalOf(json).has_value()) << json;
  }
}

TEST(JsonFields, AreAbsentIfTheyAreOfAnotherType) {
  const Json json = Json::parse(
      R"({"text":"a","number":7,"real":1.5,"large":18446744073709551615,"null":null,"list":[1]})");
  EXPECT_EQ(TextOf(json, "text"), "a");
  EXPECT_EQ(IntegerOf(json, "number"), 7);
  for (const char* name : {"real", "large", "null", "list", "text", "missing"}) {
    EXPECT_FALSE(IntegerOf(json, name).has_value()) << name;
    EXPECT_FALSE(BoolOf(json, name).has_value()) << name;
  }
  for (const char* name : {"number", "null", "list", "missing"}) {
    EXPECT_FALSE(TextOf(json, name).has_value()) << name;
  }
  EXPECT_TRUE(FieldOf(Json::array({1}), "x").is_null());
}

}  // namespace retryq::cli::management_api_test
