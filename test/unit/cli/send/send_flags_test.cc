#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <variant>

#include "absl/time/clock.h"
#include "cli/send/send_command.h"
#include "unit/cli/flags/parsed_arguments.h"

namespace retryq::cli {
namespace send_flags_test {

using ::testing::HasSubstr;
using ::testing::Not;

SendOptions Parse(const Arguments& arguments) { return OptionsIn(ParseSend(arguments)); }

std::string Complaints(const Arguments& arguments) { return ComplaintsIn(ParseSend(arguments)); }

TEST(SendFlags, SendsToAQueue) {
  const SendOptions options = Parse({"--queue", "orders", "the body"});
  EXPECT_EQ(options.message.exchange, "");
  EXPECT_EQ(options.message.routing_key, "orders");
  EXPECT_EQ(options.message.body, "the body");
  EXPECT_FALSE(options.body_from_stdin);
  EXPECT_EQ(options.publish.delay, absl::ZeroDuration());
  EXPECT_FALSE(options.publish.round_up);
}

TEST(SendFlags, SendsToAnExchangeWithAllAMessageHas) {
  const SendOptions options = Parse({"--exchange",    "shop",
                                     "--routing-key", "order.placed",
                                     "--delay",       "30s",
                                     "--round-up",    "--max-delay-queues",
                                     "100",           "--header",
                                     "customer=7",    "--header",
                                     "note=a=b c",    "--content-type",
                                     "text/plain",    "--message-id",
                                     "m-1",           "--prefix",
                                     "later",         "body"});
  EXPECT_EQ(options.message.exchange, "shop");
  EXPECT_EQ(options.message.routing_key, "order.placed");
  EXPECT_EQ(options.message.body, "body");
  EXPECT_EQ(options.publish.delay, absl::Seconds(30));
  EXPECT_TRUE(options.publish.round_up);
  EXPECT_EQ(options.client.delay_queues.max_delay_queues, 100U);
  EXPECT_EQ(options.message.headers, (amqp::Table{{"customer", "7"}, {"note", "a=b c"}}));
  EXPECT_EQ(options.message.content_type, "text/plain");
  EXPECT_EQ(options.message.message_id, "m-1");
  EXPECT_EQ(options.client.delay_queues.prefix, "later");
}

TEST(SendFlags, TakesTheBodyAsItIs) {
  for (const char* body :
       {"[1, 2]", "{\"a\": [1]}", "'quoted'", "\"quoted\"", "a,b", "%%", " ", ""}) {
    EXPECT_EQ(Parse({"--queue", "orders", body}).message.body, body);
  }
  EXPECT_EQ(Parse({"--queue", "orders", "--", "--body"}).message.body, "--body");
}

TEST(SendFlags, TakesHeadersAndNamesAsTheyAre) {
  for (const char* text : {"[1,2]", "'q'", "\"q\"", "a,b"}) {
    const SendOptions options =
        Parse({"--queue", text, "--header", std::string("h=") + text, "body"});
    EXPECT_EQ(options.message.routing_key, text);
    EXPECT_EQ(options.message.headers, (amqp::Table{{"h", text}}));
  }
}

TEST(SendFlags, ReadsStdinForADash) {
  EXPECT_TRUE(Parse({"--queue", "orders", "-"}).body_from_stdin);
}

TEST(SendFlags, NeedsOneTarget) {
  EXPECT_THAT(Complaints({"body"}), HasSubstr("--queue is missing"));
  EXPECT_THAT(Complaints({"--exchange", "shop", "body"}), HasSubstr("--routing-key is missing"));
  EXPECT_THAT(Complaints({"--routing-key", "k", "body"}), HasSubstr("--queue is missing"));
  EXPECT_THAT(Complaints({"--queue", "q", "--exchange", "x", "body"}),
              HasSubstr("--queue: excludes"));
  EXPECT_THAT(Complaints({"--exchange", "", "--routing-key", "k", "body"}),
              HasSubstr("--exchange ''"));
  EXPECT_EQ(Parse({"--exchange", "fan", "--routing-key", "", "body"}).message.routing_key, "");
}

TEST(SendFlags, HasAllProperties) {
  const OutgoingMessage message = Parse({"--queue",
                                         "orders",
                                         "--content-encoding",
                                         "gzip",
                                         "--correlation-id",
                                         "c",
                                         "--reply-to",
                                         "r",
                                         "--type",
                                         "t",
                                         "--app-id",
                                         "p",
                                         "--user-id",
                                         "u",
                                         "--priority",
                                         "9",
                                         "--expiration",
                                         "30s",
                                         "--timestamp",
                                         "1700000000",
                                         "--transient",
                                         "--header-json",
                                         "n=7",
                                         "--header-json",
                                         "o={\"a\":[1.5,null]}",
                                         "--header",
                                         "s=7",
                                         "body"})
                                      .message;
  EXPECT_EQ(message.content_encoding, "gzip");
  EXPECT_EQ(message.correlation_id, "c");
  EXPECT_EQ(message.reply_to, "r");
  EXPECT_EQ(message.type, "t");
  EXPECT_EQ(message.app_id, "p");
  EXPECT_EQ(message.user_id, "u");
  EXPECT_EQ(message.priority, 9);
  EXPECT_EQ(message.expiration, absl::Seconds(30));
  EXPECT_EQ(message.timestamp, absl::FromUnixSeconds(1'700'000'000));
  EXPECT_TRUE(message.transient);
  EXPECT_EQ(message.headers,
            (amqp::Table{{"s", "7"},
                         {"n", std::int64_t{7}},
                         {"o", amqp::Table{{"a", amqp::Array{1.5, amqp::Value()}}}}}));
}

TEST(SendFlags, ReadsTimes) {
  EXPECT_EQ(Parse({"--queue", "q", "--at", "2026-12-31T08:00:00Z", "b"}).publish.at,
            absl::FromUnixSeconds(1'798'704'000));
  const absl::Time before = absl::Now();
  const auto timestamp = Parse({"--queue", "q", "--timestamp", "now", "b"}).message.timestamp;
  ASSERT_TRUE(timestamp);
  EXPECT_GE(*timestamp, before);
  EXPECT_LE(*timestamp, absl::Now());
}

TEST(SendFlags, DeclaresTheQueue) {
  EXPECT_FALSE(Parse({"--queue", "orders", "b"}).declare);
  const SendOptions options =
      Parse({"--queue", "orders", "--declare", "--declare-type", "quorum", "b"});
  ASSERT_TRUE(options.declare);
  EXPECT_EQ(options.declare->name, "orders");
  EXPECT_EQ(options.declare->type, QueueType::kQuorum);
  EXPECT_THAT(Complaints({"--exchange", "x", "--routing-key", "k", "--declare", "b"}),
              HasSubstr("--declare: declares the --queue"));
  EXPECT_THAT(Complaints({"--queue", "q", "--declare-type", "quorum", "b"}),
              HasSubstr("--declare-type: is for --declare"));
}

TEST(SendFlags, ReadsLines) {
  const SendOptions options = Parse({"--lines"});
  ASSERT_TRUE(options.lines);
  EXPECT_EQ(options.lines->in_flight, 2000U);
  EXPECT_EQ(Parse({"--lines", "--in-flight", "7"}).lines->in_flight, 7U);
  EXPECT_EQ(Parse({"--lines", "--exchange", "shop"}).message.exchange, "shop");
  const std::string complaints =
      Complaints({"--lines", "--delay", "1s", "--in-flight", "0", "body"});
  EXPECT_THAT(complaints, HasSubstr("BODY: is in the lines"));
  EXPECT_THAT(complaints, HasSubstr("--delay and --at: are in the lines"));
  EXPECT_THAT(complaints, HasSubstr("--in-flight '0'"));
  EXPECT_THAT(Complaints({"--queue", "q", "--in-flight", "7", "b"}),
              HasSubstr("--in-flight: is for --lines"));
}

TEST(SendFlags, NamesPropertiesThatAreWrong) {
  const std::string complaints = Complaints({"--queue",
                                             "q",
                                             "--header-json",
                                             "n=seven",
                                             "--header-json",
                                             "x",
                                             "--header-json",
                                             "u=18446744073709551615",
                                             "--priority",
                                             "256",
                                             "--expiration",
                                             "soon",
                                             "--timestamp",
                                             "yesterday",
                                             "--at",
                                             "tomorrow",
                                             "--delay",
                                             "1s",
                                             "--type",
                                             std::string(256, 't'),
                                             "b"});
  for (const char* part :
       {"--header-json 'n=seven': the value is not JSON", "--header-json 'x': write NAME=JSON",
        "--header-json 'u=18446744073709551615': the number", "--priority '256'",
        "--expiration 'soon'", "--timestamp 'yesterday'", "--at 'tomorrow'",
        "--delay and --at: exclude each other", "--type: has 256 bytes"}) {
    EXPECT_THAT(complaints, HasSubstr(part));
  }
  EXPECT_THAT(Complaints({"--queue", "q", "--expiration", "1s", "--delay", "5s", "b"}),
              HasSubstr("--expiration: would end the delay early"));
}

TEST(SendFlags, SaysAllThatIsWrong) {
  const std::string complaints = Complaints(
      {"--queue", std::string(256, 'q'), "--delay", "5", "--header", "novalue", "--header", "=x",
       "--header", std::string(256, 'n') + "=v", "--prefix", "amq.x", "b", "more"});
  EXPECT_THAT(complaints, HasSubstr("--queue: has 256 bytes; AMQP takes at most 255"));
  EXPECT_THAT(complaints, HasSubstr("--delay '5': write a duration"));
  EXPECT_THAT(complaints, HasSubstr("--header 'novalue': write NAME=VALUE"));
  EXPECT_THAT(complaints, HasSubstr("--header '=x': write NAME=VALUE"));
  EXPECT_THAT(complaints, HasSubstr("--header: has 256 bytes"));
  EXPECT_THAT(complaints, HasSubstr("--prefix"));
  EXPECT_THAT(complaints, HasSubstr("'more': unexpected here"));
}

TEST(SendFlags, NeverPrintsAPassword) {
  EXPECT_THAT(Complaints({"--queue", "q", "--url", "amqp://user:hunter2@host:port/", "body"}),
              AllOf(HasSubstr("--url"), Not(HasSubstr("hunter"))));
}

TEST(SendFlags, HelpHasAnExample) {
  const auto parsed = ParseSend({"-h"});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_THAT(std::get<Answer>(*parsed).text,
              AllOf(HasSubstr("Usage: retryq send"), HasSubstr("Example:"), HasSubstr("--delay")));
}

}  // namespace send_flags_test
}  // namespace retryq::cli
