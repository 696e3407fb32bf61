#include "cli/management/management_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "cli/management/json_fields.h"
#include "cli/management/management_answer.h"
#include "support/canned_server.h"

namespace retryq::cli {
namespace management_api_test {

using ::retryq::testing::CannedServer;
using ::retryq::testing::HttpAnswer;
using ::testing::HasSubstr;
using Json = nlohmann::json;

class ManagementApiTest : public ::testing::Test {
 protected:
  absl::StatusOr<ManagementApi::Answer> Answered(const std::string& status,
                                                 const std::string& body) {
    const CannedServer server(loop_, HttpAnswer(status, body));
    ManagementApi api(loop_, {.endpoint = {.host = "127.0.0.1", .port = server.port()},
                              .user = "somebody",
                              .password = "s3cret"});
    return api.Get("/overview");
  }
  void ExpectError(const std::string& status, const std::string& body, absl::StatusCode code,
                   const std::string& text) {
    const absl::Status error = Answered(status, body).status();
    EXPECT_EQ(error.code(), code) << error;
    EXPECT_THAT(std::string(error.message()), HasSubstr(text));
    EXPECT_THAT(std::string(error.message()), HasSubstr("http://127.0.0.1:"));
    EXPECT_THAT(std::string(error.message()), ::testing::Not(HasSubstr("s3cret")));
  }

  EventLoop loop_;
};

TEST_F(ManagementApiTest, AnswersJsonAndTheTime) {
  const auto answer = Answered("200 OK", R"({"rabbitmq_version":"3.10.8"})");
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(TextOf(answer->json, "rabbitmq_version"), "3.10.8");
  EXPECT_EQ(answer->at, absl::FromUnixSeconds(1795330918));
  ASSERT_TRUE(answer->clock.has_value());
  EXPECT_GE(answer->clock->error, absl::Milliseconds(500));
}

TEST_F(ManagementApiTest, SaysWhatARefusalIsAbout) {
  ExpectError("401 Unauthorized", R"({"error":"not_authorized","reason":"Login failed"})",
              absl::StatusCode::kUnauthenticated, "the user 'somebody' is refused (Login failed)");
  ExpectError("401 Unauthorized", R"({"error":"not_authorized","reason":"Not_Authorized"})",
              absl::StatusCode::kUnauthenticated, "--management");
  ExpectError("401 Unauthorized", R"({"error":"not_authorised","reason":"Not management user"})",
              absl::StatusCode::kPermissionDenied, "set_user_tags");
  ExpectError("401 Unauthorized", R"({"error":"not_authorised","reason":"Not monitor user"})",
              absl::StatusCode::kPermissionDenied, "'monitoring'");
  ExpectError("401 Unauthorized",
              R"({"error":"x","reason":"User not authorised to access virtual host"})",
              absl::StatusCode::kPermissionDenied, "set_permissions");
  ExpectError("403 Forbidden", "forbidden", absl::StatusCode::kUnauthenticated, "refused");
  ExpectError("404 Not Found", R"({"error":"Object Not Found","reason":"Not Found"})",
              absl::StatusCode::kNotFound, "/overview");
  ExpectError("404 Not Found", "<html>", absl::StatusCode::kFailedPrecondition,
              "rabbitmq_management");
  ExpectError("500 Internal", R"({"reason":"line\nbreak)" + std::string(2000, 'x') + "\"}",
              absl::StatusCode::kUnavailable, "500 (line\\u{A}break");
}

TEST_F(ManagementApiTest, TakesWhateverIsAnswered) {
  ExpectError("200 OK", "<html>hello</html>", absl::StatusCode::kFailedPrecondition, "is not JSON");
  ExpectError("200 OK", "", absl::StatusCode::kFailedPrecondition, "is not JSON");
  ExpectError("200 OK", "\xff\xfe\"", absl::StatusCode::kFailedPrecondition, "is not JSON");
  ExpectError("401 Unauthorized", R"({"reason":["\u0000",7]})", absl::StatusCode::kUnauthenticated,
              "is refused;");
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  for (const char* status : {"200 OK", "503 Service Unavailable"}) {
    for (const std::string& body : {deep, R"({"arguments":)" + deep + "}"}) {
      ExpectError(status, body, absl::StatusCode::kFailedPrecondition,
                  "the answer is JSON that nests deeper than 100 levels");
    }
  }
}

TEST(JsonFields, AreNothingWhereTheyAreOfAnotherType) {
  const Json json = Json::parse(
      R"({"text":"a","number":7,"real":1.5,"large":18446744073709551615,"null":null,"list":[1]})");
  EXPECT_EQ(TextOf(json, "text"), "a");
  EXPECT_EQ(IntegerOf(json, "number"), 7);
  EXPECT_EQ(NumberOf(json, "real"), 1.5);
  for (const char* name : {"real", "large", "null", "list", "text", "missing"}) {
    EXPECT_FALSE(IntegerOf(json, name).has_value()) << name;
    EXPECT_FALSE(BoolOf(json, name).has_value()) << name;
  }
  for (const char* name : {"number", "null", "list", "missing"}) {
    EXPECT_FALSE(TextOf(json, name).has_value()) << name;
  }
  EXPECT_FALSE(NumberOf(json, "text").has_value());
  EXPECT_TRUE(FieldOf(Json::array({1}), "x").is_null());
  EXPECT_TRUE(FieldOf(Json("text"), "x").is_null());
}

TEST(Printable, IsEscapedAndShort) {
  EXPECT_EQ(Printable("a\nb\tc\x1b[2J\x7f"), R"(a\u{A}b\u{9}c\u{1B}[2J\u{7F})");
  EXPECT_EQ(Printable("\xc3\xa4"), "\xc3\xa4");
  EXPECT_EQ(Printable("\xff\xe2\x80\xae"), R"(\xFF\u{202E})");
  EXPECT_EQ(Printable("abcdef", 3), "abc...");
  EXPECT_EQ(Printable("ab\xc3\xa4", 3), "ab...");
}

}  // namespace management_api_test
}  // namespace retryq::cli
