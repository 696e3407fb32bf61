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

TEST(Describe, ShowsTlsAndWhoLogsInByACertificate) {
  ConnectionOptions options = {.endpoints = {{.host = "a", .port = 5671}}, .tls = TlsOptions()};
  EXPECT_EQ(Describe(options), "amqps://guest@a:5671 vhost '/'");
  options.auth_mechanism = AuthMechanism::kExternal;
  EXPECT_EQ(Describe(options), "amqps://a:5671 vhost '/'");
}

TEST(Validate, NamesEveryFieldThatIsWrong) {
  EXPECT_TRUE(Validate({}).ok());
  const absl::Status status = Validate({.endpoints = {},
                                        .vhost = std::string(256, 'v'),
                                        .heartbeat = absl::Seconds(-1),
                                        .connection_timeout = absl::ZeroDuration(),
                                        .tls_timeout = absl::ZeroDuration(),
                                        .handshake_timeout = absl::ZeroDuration(),
                                        .frame_max = 4096,
                                        .reconnect_initial = absl::ZeroDuration(),
                                        .reconnect_max = absl::Seconds(-1),
                                        .read_coalescing = absl::Milliseconds(21)});
  for (const char* field :
       {"endpoints", "vhost", "heartbeat", "connection_timeout", "tls_timeout", "handshake_timeout",
        "frame_max", "reconnect_initial", "reconnect_max", "read_coalescing"}) {
    EXPECT_THAT(std::string(status.message()), HasSubstr(field));
  }
}

TEST(Validate, KnowsTheBoundsOfReadCoalescing) {
  EXPECT_TRUE(Validate({.read_coalescing = absl::ZeroDuration()}).ok());
  EXPECT_TRUE(Validate({.read_coalescing = absl::Milliseconds(20)}).ok());
  EXPECT_FALSE(Validate({.read_coalescing = absl::Nanoseconds(-1)}).ok());
}

TEST(Validate, LeavesLimitsOfZeroToTheBroker) {
  EXPECT_TRUE(Validate({.frame_max = 0, .channel_max = 0}).ok());
}

TEST(Validate, WantsACertificateForALoginByCertificate) {
  ConnectionOptions options = {.auth_mechanism = AuthMechanism::kExternal};
  EXPECT_THAT(std::string(Validate(options).message()), HasSubstr("auth_mechanism"));
  options.tls.emplace();
  EXPECT_THAT(std::string(Validate(options).message()), HasSubstr("certfile"));
}

TEST(Validate, LooksAtTheFiles) {
  const ConnectionOptions options = {
      .tls = TlsOptions{.ca_file = "/no/ca", .cert_file = "/no/cert", .key_file = "/no/key"},
      .vhost = std::string(256, 'v')};
  const std::string message(Validate(options).message());
  for (const char* part : {"vhost", "tls.ca_file '/no/ca'", "tls.cert_file '/no/cert'",
                           "tls.key_file '/no/key'", "No such file or directory"}) {
    EXPECT_THAT(message, HasSubstr(part));
  }
}

}  // namespace
}  // namespace retryq::amqp
