#include "cli/worker/trace_id.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "retryq/amqp/table.h"
#include "support/make_message.h"

namespace retryq::cli {
namespace trace_id_test {

constexpr char kTrace[] = "4bf92f3577b34da6a3ce929d0e0e4736";
constexpr char kParent[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

std::string Of(const amqp::Table& headers) {
  const Delivery delivery(testing::MakeMessage({.headers = headers}),
                          std::make_shared<const std::string>("orders"), {});
  return std::string(TraceIdOf(delivery));
}

TEST(TraceId, IsTheSecondFieldOfATraceparent) { EXPECT_EQ(TraceIdIn(kParent), kTrace); }

TEST(TraceId, IsFoundInLaterVersionsThatHaveMoreFields) {
  EXPECT_EQ(TraceIdIn("01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"), kTrace);
  EXPECT_EQ(TraceIdIn("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what"), kTrace);
  EXPECT_EQ(TraceIdIn("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01what"), "");
}

TEST(TraceId, IsNoneWhereTheTraceparentIsMalformed) {
  for (const char* malformed : {"", "-", "00-1-2-01",
                                // too short, too long
                                "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
                                "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-",
                                "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01 ",
                                // a version that is none
                                "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                                "0g-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                                // no hex digits, or upper-case ones
                                "00-4bf92f3577b34da6a3ce929d0e0e473x-00f067aa0ba902b7-01",
                                "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
                                "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902bx-01",
                                "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0x",
                                // nothing but zeros
                                "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
                                "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
                                // other separators
                                "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                                "00-4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7-01",
                                "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7_01"}) {
    EXPECT_EQ(TraceIdIn(malformed), "") << malformed;
  }
}

TEST(TraceId, IsThatOfTheHeader) {
  EXPECT_EQ(Of({{"tracestate", "a=b"}, {"traceparent", kParent}}), kTrace);
  EXPECT_EQ(Of({{"traceparent", amqp::Bytes{kParent}}}), kTrace);
  EXPECT_EQ(Of({{"traceparent", 7}}), "");
  EXPECT_EQ(Of({{"tracestate", "a=b"}}), "");
}

TEST(TraceId, IsNoneOfAMessageWithoutHeaders) {
  const Delivery delivery(testing::MakeMessage(), std::make_shared<const std::string>("orders"),
                          {});
  EXPECT_EQ(TraceIdOf(delivery), "");
}

}  // namespace trace_id_test
}  // namespace retryq::cli
