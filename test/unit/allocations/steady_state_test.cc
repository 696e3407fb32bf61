// The allocations for each message once all buffers have grown, over a real connection: only those
// of the message itself, and none for retrying.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

#include "retryq/retryq.h"
#include "unit/allocations/counted_allocations.h"
#include "unit/allocations/delivering_server.h"

namespace retryq::steady_state_test {

constexpr std::uint64_t kWarmUp = 1000;
constexpr std::uint64_t kCounted = 2000;

// A message, and its names, header and body.
constexpr std::uint64_t kEach = 2;
// Allocations that depend on time and not on messages: a timer for each eighth of a heartbeat, one
// per second.
constexpr std::uint64_t kByTime = kCounted / 20;
constexpr std::uint64_t kMost = kCounted * kEach + kByTime;

std::string Headers() {
  std::string headers;
  amqp::TableWriter writer(&headers);
  writer.SetString("trace", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
  return headers;
}

// The allocations of this thread while this number of messages is processed.
template <typename MakeHandler>
std::uint64_t Count(std::size_t body_size, const MakeHandler& make_handler) {
  const std::string headers = Headers();
  amqp::DeliveringServer server(
      {.content_type = "application/json", .headers = amqp::TableView(headers)},
      std::string(body_size, 'x'));
  EventLoop loop;
  Client client(loop, {.url = server.url()});
  std::uint64_t calls = 0;
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  const auto on_call = [&] {
    ++calls;
    if (calls == kWarmUp) before = CountedAllocations();
    if (calls != kWarmUp + kCounted) return;
    after = CountedAllocations();
    loop.Stop();
  };
  const auto consumer =
      client.Consume({.queue = "orders", .prefetch = 1000}, make_handler(on_call));
  EXPECT_TRUE(consumer.ok()) << consumer.status();
  const auto deadline = loop.After(absl::Minutes(1), [&loop] {
    loop.Fail(absl::DeadlineExceededError("the messages did not come"));
  });
  EXPECT_EQ(loop.Run(), absl::OkStatus());
  return after - before;
}

std::uint64_t CountRetries(const absl::Status& error, std::size_t body_size = 256) {
  return Count(body_size, [&](const auto& on_call) {
    return [&on_call, &error](const Delivery&) -> Outcome {
      on_call();
      return error;
    };
  });
}

TEST(SteadyState, ARetryAllocatesOnlyItsMessage) {
  EXPECT_LT(CountRetries(absl::UnavailableError("connection refused")), kMost);
}

TEST(SteadyState, ARetryAllocatesOnlyItsMessageWhateverTheError) {
  EXPECT_LT(CountRetries(absl::FailedPreconditionError("the account is locked, try again later")),
            kMost);
}

// A body above 4 KiB has a separate allocation.
TEST(SteadyState, ARetryOfALargeBodyAllocatesOnlyItsMessage) {
  EXPECT_LT(CountRetries(absl::UnavailableError("connection refused"), 20'000), kMost + kCounted);
}

TEST(SteadyState, ASuccessAllocatesOnlyItsMessage) {
  EXPECT_LT(CountRetries(absl::OkStatus()), kMost);
}

}  // namespace retryq::steady_state_test
