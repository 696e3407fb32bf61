#include "cli/messages/queue_reader.h"
#include "support/make_message.h"
#include "support/test.h"

namespace retryq::cli::copies_test {

// The headers of the copy.
amqp::Table HeadersOfCopy(const amqp::MessagePtr& message, const CopyPlan& plan) {
  std::string headers;
  const amqp::Properties properties = PropertiesOfCopy(*message, plan, &headers);
  EXPECT_TRUE(properties.headers.has_value());
  return properties.headers.value_or(amqp::TableView()).Decode().value();
}

// It was published with a delay.
TEST(PropertiesOfCopy, OfAParkedMessageWithoutRetryHeadersAddAllThatAReplayNeeds) {
  const CopyPlan plan{
      .path = CopyPath::kRelease, .parked = absl::UnixEpoch(), .work_queue = "orders"};
  const amqp::Table headers =
      HeadersOfCopy(MakeMessage({.properties = {.message_id = "m-1"}}), plan);
  EXPECT_EQ(*headers.Find("x-retry-count"), amqp::Value(std::int64_t{0}));
  EXPECT_EQ(*headers.Find("x-retry-queue"), amqp::Value("orders"));
  EXPECT_EQ(*headers.Find("x-retry-exchange"), amqp::Value(""));
  EXPECT_EQ(*headers.Find("x-retry-routing-key"), amqp::Value("orders"));
  EXPECT_EQ(*headers.Find("x-retry-id"), amqp::Value("m-1"));
  const auto bare = MakeMessage();
  EXPECT_NE(*HeadersOfCopy(bare, plan).Find("x-retry-id"),
            *HeadersOfCopy(bare, plan).Find("x-retry-id"));
  const auto theirs = MakeMessage({.headers = amqp::Table{{"x-retry-count", "twice"}}});
  EXPECT_EQ(*HeadersOfCopy(theirs, plan).Find("x-retry-count"), amqp::Value(std::int64_t{0}));
}

TEST(PropertiesOfCopy, HaveNoHeadersIfTheMessageHasNone) {
  std::string headers;
  EXPECT_FALSE(PropertiesOfCopy(*MakeMessage(), {}, &headers).headers.has_value());
}

TEST(Pacer, SpreadsStepsEvenly) {
  Pacer pacer(10);
  absl::Duration now = absl::Hours(1);
  EXPECT_LE(pacer.Wait(now), absl::ZeroDuration());
  for (int i = 0; i < 100; ++i) {
    now += std::max(pacer.Wait(now), absl::ZeroDuration());
    pacer.Step(now);
  }
  EXPECT_GE(now - absl::Hours(1), absl::Seconds(9.8));
  EXPECT_LE(now - absl::Hours(1), absl::Seconds(10));
}

TEST(Pacer, MakesUpForLateTimersButNotForPauses) {
  Pacer pacer(1000);
  absl::Duration now = absl::Hours(1);
  pacer.Step(now);
  now += absl::Minutes(1);
  int at_once = 0;
  for (; pacer.Wait(now) <= absl::ZeroDuration(); ++at_once) pacer.Step(now);
  EXPECT_EQ(at_once, 51);
}

TEST(Pacer, NeverWaitsWithoutARate) {
  Pacer pacer(0);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_LE(pacer.Wait(absl::Hours(1)), absl::ZeroDuration());
    pacer.Step(absl::Hours(1));
  }
}

}  // namespace retryq::cli::copies_test
