#include "retryq/amqp/connection_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace retryq::amqp {
namespace {

using ::testing::HasSubstr;

TEST(Describe, ShowsAllButThePassword) {
  const ConnectionOptions options = {
      .endpoints = {{.host = "a"}, {.host = "::1", .port = 1}},
      .user = "u",
      .password = "Sesame",
      .vhost = "v",
  };
  EXPECT_EQ(Describe(options), "amqp://u@a:5672,[::1]:1 vhost 'v'");
}

TEST(Validate, NamesEveryFieldThatIsWrong) {
  EXPECT_TRUE(Validate({}).ok());
  const absl::Status status = Validate({.endpoints = {},
                                        .vhost = std::string(256, 'v'),
                                        .heartbeat = absl::Seconds(-1),
                                        .connection_timeout = absl::ZeroDuration(),
                                        .handshake_timeout = absl::ZeroDuration(),
                                        .frame_max = 4096,
                                        .reconnect_initial = absl::ZeroDuration(),
                                        .reconnect_max = absl::Seconds(-1)});
  for (const char* field :
       {"endpoints", "vhost", "heartbeat", "connection_timeout", "handshake_timeout", "frame_max",
        "reconnect_initial", "reconnect_max"}) {
    EXPECT_THAT(std::string(status.message()), HasSubstr(field));
  }
}

TEST(Validate, LeavesLimitsOfZeroToTheBroker) {
  EXPECT_TRUE(Validate({.frame_max = 0, .channel_max = 0}).ok());
}

}  // namespace
}  // namespace retryq::amqp
