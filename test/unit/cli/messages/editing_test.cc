#include "cli/messages/actions.h"
#include "support/make_message.h"
#include "support/test.h"

namespace retryq::cli::editing_test {

amqp::MessagePtr Original(std::string_view body = "{\"cents\":1}") {
  return MakeMessage({.body = body,
                      .properties = {.content_type = "application/json", .message_id = "m-1"},
                      .headers = testing::Copied({{"small", std::int16_t{7}},
                                                  {"price", amqp::Decimal{2, 110}},
                                                  {"tenant", "blue"},
                                                  {"x-retry-count", std::int64_t{3}}})});
}

amqp::Table HeadersOf(const Replacement& replacement) {
  return amqp::TableView(*replacement.headers).Decode().value();
}

std::string WhyNot(const std::string& text) {
  return std::string(ReadEdited(Original(), text).status().message());
}

TEST(EditText, ShowsHeadersALineAndTheBody) {
  EXPECT_EQ(*EditText(*Original("a\nb")),
            "{\n  \"price\": \"1.10\",\n  \"small\": 7,\n  \"tenant\": \"blue\"\n}\n"
            "--- body ---\na\nb");
}

TEST(EditText, RefusesABodyThatIsNotText) {
  EXPECT_THAT(std::string(EditText(*Original("\xff\x01")).status().message()),
              HasSubstr("replay --id ID --body FILE"));
}

TEST(ReadEdited, KeepsUnchangedPartsByteForByte) {
  const auto original = Original("a\nb");
  const auto replacement = ReadEdited(original, *EditText(*original));
  ASSERT_TRUE(replacement.ok()) << replacement.status();
  EXPECT_EQ(replacement->body, "a\nb");
  EXPECT_EQ(*replacement->headers, original->properties.headers->bytes());
}

TEST(ReadEdited, ReadsNewHeadersAsJsonAndKeepsTheTypesOfOthers) {
  const auto replacement =
      ReadEdited(Original(), R"({"price":"1.10","tenant":"red","retries":3,"vip":true})"
                             "\n--- body ---\nnew");
  ASSERT_TRUE(replacement.ok()) << replacement.status();
  EXPECT_EQ(replacement->body, "new");
  const amqp::Table headers = HeadersOf(*replacement);
  EXPECT_EQ(headers.Find("small"), nullptr);
  EXPECT_EQ(*headers.Find("price"), amqp::Value(amqp::Decimal{2, 110}));
  EXPECT_EQ(*headers.Find("tenant"), amqp::Value("red"));
  EXPECT_EQ(*headers.Find("retries"), amqp::Value(std::int64_t{3}));
  EXPECT_EQ(*headers.Find("vip"), amqp::Value(true));
  EXPECT_EQ(*headers.Find("x-retry-count"), amqp::Value(std::int64_t{3}));
}

TEST(ReadEdited, KeepsAHeaderWhoseNameIsNotUtf8) {
  const auto original =
      MakeMessage({.body = "b", .headers = amqp::Table{{"caf\xE9", "old"}, {"tenant", "blue"}}});
  std::string text = EditText(*original).value();
  text.replace(text.find("blue"), 4, "red!");
  const auto replacement = ReadEdited(original, text);
  ASSERT_TRUE(replacement.ok()) << replacement.status();
  const amqp::Table headers = HeadersOf(*replacement);
  EXPECT_EQ(headers.fields().size(), 2U);
  ASSERT_NE(headers.Find("caf\xE9"), nullptr);
  EXPECT_EQ(*headers.Find("tenant"), amqp::Value("red!"));
}

TEST(ReadEdited, IgnoresTheLineFeedThatEditorsAdd) {
  EXPECT_EQ(ReadEdited(Original("one"), "{}\n--- body ---\none\n")->body, "one");
  EXPECT_EQ(ReadEdited(Original("one\n"), "{}\n--- body ---\none\n")->body, "one\n");
  EXPECT_EQ(ReadEdited(Original(""), "{}\n--- body ---")->body, "");
}

TEST(ReadEdited, AcceptsABodyThatContainsTheSeparatorLine) {
  const std::string body = "x\n--- body ---\ny";
  const auto original = Original(body);
  EXPECT_EQ(ReadEdited(original, *EditText(*original))->body, body);
}

TEST(ReadEdited, NamesTheError) {
  EXPECT_THAT(WhyNot("{}\nbody"), HasSubstr("the line '--- body ---'"));
  EXPECT_THAT(WhyNot("[]\n--- body ---\n"), HasSubstr("not a JSON object"));
  EXPECT_THAT(WhyNot("{\"a\":}\n--- body ---\n"), HasSubstr("not a JSON object"));
  EXPECT_THAT(WhyNot("{\"x-retry-queue\":\"vault\"}\n--- body ---\n"),
              HasSubstr("header 'x-retry-queue'"));
  EXPECT_THAT(WhyNot("{\"a\":18446744073709551615}\n--- body ---\n"), HasSubstr("header 'a'"));
}

TEST(Replacement, RequiresTheSameMessage) {
  EXPECT_TRUE(IsSame(*Original(), *Original()));
  EXPECT_FALSE(IsSame(*Original(), *Original("{\"cents\":2}")));
  const amqp::Table counted = {{"a", 1}, {"x-delivery-count", std::int64_t{2}}};
  EXPECT_TRUE(
      IsSame(*MakeMessage({.headers = amqp::Table{{"a", 1}}}), *MakeMessage({.headers = counted})));
  EXPECT_FALSE(
      IsSame(*MakeMessage({.headers = amqp::Table{{"a", 2}}}), *MakeMessage({.headers = counted})));
}

}  // namespace retryq::cli::editing_test
