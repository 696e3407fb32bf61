#include "retry/delivery/timed_out.h"

#include "retryq/amqp/table.h"
#include "support/make_message.h"
#include "support/test.h"

namespace retryq::timed_out_test {

struct Parts {
  std::string_view body = "body";
  std::string_view id = {};
  std::int64_t failures = 0;
  std::int64_t acquired = 0;
  std::int64_t failed = 0;  // as the queue has counted
};

amqp::MessagePtr Make(const Parts& parts) {
  amqp::Table headers;
  if (!parts.id.empty()) headers.Set("x-retry-id", parts.id);
  if (parts.failures > 0) headers.Set("x-retry-count", parts.failures);
  if (!headers.empty()) headers = testing::Copied(std::move(headers));
  if (parts.acquired > 0) headers.Set("x-acquired-count", parts.acquired);
  if (parts.failed > 0) headers.Set("x-delivery-count", parts.failed);
  return testing::MakeMessage(
      {.body = parts.body, .headers = headers, .redelivered = parts.acquired > 0});
}

TEST(TimedOut, RecognizesAMessageThatReturnedUncounted) {
  TimedOut timed_out;
  EXPECT_EQ(timed_out.Take(*Make({.acquired = 1})), 0U);
  timed_out.Remember(*Make({}));
  EXPECT_EQ(timed_out.Take(*Make({.body = "another", .acquired = 1})), 0U);
  EXPECT_EQ(timed_out.Take(*Make({.acquired = 1})), 1U);
  EXPECT_EQ(timed_out.Take(*Make({.acquired = 1})), 0U);
  EXPECT_EQ(timed_out.size(), 0U);
}

TEST(TimedOut, IgnoresTimeoutsThatTheBrokerCounted) {
  TimedOut timed_out;
  timed_out.Remember(*Make({.acquired = 2, .failed = 1}));
  EXPECT_EQ(timed_out.Take(*Make({.acquired = 3, .failed = 2})), 0U);
  EXPECT_EQ(timed_out.Take(*Make({.acquired = 4, .failed = 2})), 1U);
}

TEST(TimedOut, RecognizesLaterCopiesOfAMessageWithAnId) {
  TimedOut timed_out;
  timed_out.Remember(*Make({.id = "1", .failures = 2, .acquired = 4}));
  EXPECT_EQ(timed_out.Take(*Make({.id = "1", .failures = 1})), 0U);  // as one that was replayed
  EXPECT_EQ(timed_out.Take(*Make({.id = "1", .failures = 3})), 1U);
  timed_out.Remember(*Make({}));
  EXPECT_EQ(timed_out.Take(*Make({.failures = 1})), 0U);
}

TEST(TimedOut, AddsRepeatedTimeouts) {
  TimedOut timed_out;
  timed_out.Remember(*Make({.acquired = 0}));
  timed_out.Remember(*Make({.acquired = 1}));
  EXPECT_EQ(timed_out.Take(*Make({.acquired = 2})), 2U);
}

TEST(TimedOut, ForgetsTheOldest) {
  TimedOut timed_out;
  for (std::size_t i = 0; i <= TimedOut::kMost; ++i) {
    timed_out.Remember(*Make({.body = std::to_string(i)}));
  }
  EXPECT_EQ(timed_out.size(), TimedOut::kMost);
  EXPECT_EQ(timed_out.Take(*Make({.body = "0", .acquired = 1})), 0U);
  EXPECT_EQ(timed_out.Take(*Make({.body = "1", .acquired = 1})), 1U);
}

}  // namespace retryq::timed_out_test
