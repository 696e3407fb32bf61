#include "cli/send/send_command.h"

#include <nlohmann/json.hpp>

#include "support/test.h"
#include "unit/cli/flags/parsed_arguments.h"

namespace retryq::cli::send_command_test {

using Json = nlohmann::json;

SendOptions Parse(const Arguments& arguments) { return OptionsIn(ParseSend(arguments)); }

TEST(SendFlags, TextsAreSentAsTheyAre) {
  for (const char* text : {"[1, 2]", "{\"a\": [1]}", "'q'", "\"q\"", "a,b", "%%", " "}) {
    const SendOptions options =
        Parse({"--queue", text, "--header", std::string("h=") + text, text});
    EXPECT_EQ(options.message.body, text);
    EXPECT_EQ(options.message.routing_key, text);
    EXPECT_EQ(options.message.headers, (amqp::Table{{"h", text}}));
  }
  EXPECT_EQ(Parse({"--queue", "orders", ""}).message.body, "");
  EXPECT_EQ(Parse({"--queue", "orders", "--", "--body"}).message.body, "--body");
  EXPECT_EQ(Parse({"--exchange", "fan", "--routing-key", "", "b"}).message.routing_key, "");
  EXPECT_TRUE(Parse({"--queue", "orders", "-"}).body_from_stdin);
}

TEST(SendFlags, SetTimes) {
  EXPECT_EQ(Parse({"--queue", "q", "--at", "2026-12-31T08:00:00Z", "b"}).publish.at,
            absl::FromUnixSeconds(1'798'704'000));
  const absl::Time before = absl::Now();
  const auto timestamp = Parse({"--queue", "q", "--timestamp", "now", "b"}).message.timestamp;
  ASSERT_TRUE(timestamp);
  EXPECT_GE(*timestamp, before);
  EXPECT_LE(*timestamp, absl::Now());
}

}  // namespace retryq::cli::send_command_test
