#include "cli/send/send_command.h"
#include "support/test.h"

namespace retryq::cli::line_request_test {

LineRequest Read(std::string_view line, LineRequest request = {}) {
  const absl::Status read = ParseRequest(line, &request);
  EXPECT_TRUE(read.ok()) << line << ": " << read;
  return request;
}

// Returns the error of a line.
std::string Complaint(std::string_view line) {
  LineRequest request;
  const absl::Status read = ParseRequest(line, &request);
  EXPECT_TRUE(absl::IsInvalidArgument(read)) << line << ": " << read;
  return std::string(read.message());
}

TEST(LineRequest, SetsEachProperty) {
  const LineRequest request = Read(R"({"id":"a","exchange":"shop","routing_key":"order.placed",
    "body":"b","headers":{"n":7,"s":"x"},"delay":"1s500ms","priority":9,"correlation_id":"c",
    "reply_to":"r","type":"t","app_id":"p","user_id":"u","message_id":"m",
    "content_type":"text/plain","content_encoding":"gzip","timestamp":1700000000,
    "transient":true})");
  EXPECT_EQ(request.id, "\"a\"");
  const OutgoingMessage& message = request.message;
  EXPECT_EQ(message.exchange, "shop");
  EXPECT_EQ(message.routing_key, "order.placed");
  EXPECT_EQ(message.body, "b");
  EXPECT_EQ(message.headers, (amqp::Table{{"n", std::int64_t{7}}, {"s", "x"}}));
  EXPECT_EQ(request.publish.delay, absl::Milliseconds(1500));
  EXPECT_EQ(message.priority, 9);
  EXPECT_EQ(message.correlation_id, "c");
  EXPECT_EQ(message.reply_to, "r");
  EXPECT_EQ(message.type, "t");
  EXPECT_EQ(message.app_id, "p");
  EXPECT_EQ(message.user_id, "u");
  EXPECT_EQ(message.message_id, "m");
  EXPECT_EQ(message.content_type, "text/plain");
  EXPECT_EQ(message.content_encoding, "gzip");
  EXPECT_EQ(message.timestamp, absl::FromUnixSeconds(1'700'000'000));
  EXPECT_TRUE(message.transient);
}

TEST(LineRequest, ReadsEachFormOfATime) {
  const absl::Time time = absl::FromUnixSeconds(1'798'704'000);
  EXPECT_EQ(Read(R"({"queue":"q","at":"2026-12-31T08:00:00Z"})").publish.at, time);
  EXPECT_EQ(Read(R"({"queue":"q","at":"2026-12-31T09:00:00+01:00"})").publish.at, time);
  EXPECT_EQ(Read(R"({"queue":"q","timestamp":"2026-12-31T08:00:00Z"})").message.timestamp, time);
  EXPECT_EQ(Read(R"({"queue":"q","delay":1.5})").publish.delay, absl::Milliseconds(1500));
  EXPECT_EQ(Read(R"({"queue":"q","expiration":"30s"})").message.expiration, absl::Seconds(30));
  EXPECT_EQ(Read(R"({"queue":"q","expiration":"30000"})").message.expiration, absl::Seconds(30));
  EXPECT_FALSE(Read(R"({"queue":"q","expiration":""})").message.expiration);
}

TEST(LineRequest, ReadsABodyOfAnyBytes) {
  EXPECT_EQ(Read(R"({"queue":"q","body_base64":"AAH/"})").message.body,
            std::string("\0\x01\xFF", 3));
}

TEST(LineRequest, KeepsTheDefaultsOfMissingFields) {
  LineRequest defaults;
  defaults.message = {
      .exchange = "shop", .routing_key = "k", .headers = {{"h", "default"}}, .app_id = "shop"};
  const LineRequest request =
      Read(R"({"routing_key":"other","headers":{"n":1},"app_id":null})", defaults);
  EXPECT_EQ(request.message.exchange, "shop");
  EXPECT_EQ(request.message.routing_key, "other");
  EXPECT_EQ(request.message.app_id, "shop");
  EXPECT_EQ(request.message.headers, (amqp::Table{{"h", "default"}, {"n", std::int64_t{1}}}));
  EXPECT_EQ(Read(R"({"queue":"q"})", defaults).message.exchange, "");
}

TEST(LineRequest, WrongLinesAreExplained) {
  EXPECT_EQ(Complaint("order 42"), "the line is not JSON");
  EXPECT_EQ(Complaint("[1]"), "the line is not a JSON object");
  EXPECT_THAT(Complaint(R"({"body":"b"})"), HasSubstr("the line has no \"queue\""));
  EXPECT_THAT(Complaint(R"({"queue":"q","exchange":"x"})"),
              HasSubstr("\"queue\" cannot be combined with"));
  EXPECT_THAT(Complaint(R"({"queue":"q","body":"b","body_base64":"AA=="})"),
              HasSubstr("\"body\" cannot be combined with"));
  EXPECT_THAT(Complaint(R"({"queue":"q","delay":"1s","at":"2026-12-31T08:00:00Z"})"),
              HasSubstr("\"delay\" cannot be combined with"));
  EXPECT_THAT(Complaint(R"({"queue":"q","bdoy":"b"})"),
              HasSubstr("unknown field \"bdoy\"; the fields are: id, queue,"));
}

TEST(LineRequest, AWrongValueIsReportedWithItsField) {
  for (const auto& [field, value] : std::initializer_list<std::pair<const char*, const char*>>{
           {"body", "1"},
           {"body_base64", "\"!\""},
           {"headers", "[]"},
           {"headers", R"({"n":18446744073709551615})"},
           {"delay", "\"soon\""},
           {"delay", "-1"},
           {"at", "\"tomorrow\""},
           {"at", "\"infinite-future\""},
           {"priority", "256"},
           {"priority", "-1"},
           {"expiration", "30"},
           {"timestamp", "-1"},
           {"timestamp", "1.5"},
           {"transient", "1"},
           {"type", "7"},
           {"id", "[1]"},
           {"id", "123456789012345678901234567890"}}) {
    const std::string line = std::string(R"({"queue":"q",")") + field + "\":" + value + "}";
    EXPECT_THAT(Complaint(line), HasSubstr(std::string("\"") + field + "\"")) << line;
  }
}

TEST(LineRequest, HasAnIdEvenIfTheRestIsWrong) {
  LineRequest request;
  EXPECT_FALSE(ParseRequest(R"({"body":7,"id":42})", &request).ok());
  EXPECT_EQ(request.id, "42");
}

TEST(LineRequest, RepeatsTheId) {
  for (const char* id : {"1", "-0.5", "1.0", "18446744073709551615", "true", "null", R"("a")"}) {
    EXPECT_EQ(Read(absl::StrCat(R"({"queue":"q","id":)", id, "}")).id, id);
  }
}

TEST(LineRequest, MalformedLinesAreRefused) {
  for (const std::string& line :
       {std::string(100'000, '['), std::string("{\"queue\":\"\xFF\"}"), std::string("\0", 1),
        std::string(R"({"queue":"q","headers":)") + std::string(100, '[') + std::string(100, ']') +
            "}"}) {
    LineRequest request;
    EXPECT_FALSE(ParseRequest(line, &request).ok());
  }
  LineRequest request;
  EXPECT_EQ(ParseRequest(std::string(100'000, '['), &request).message(),
            "the line is JSON that nests deeper than 100 levels");
}

TEST(AnswerLine, RepeatsTheId) {
  EXPECT_EQ(AnswerLine("7", absl::OkStatus()), "{\"id\":7,\"ok\":true}\n");
  EXPECT_EQ(AnswerLine("\"a\"", absl::NotFoundError("no \"queue\"\xFF")),
            "{\"id\":\"a\",\"error\":\"no \\\"queue\\\"\xEF\xBF\xBD\"}\n");
}

}  // namespace retryq::cli::line_request_test
