#include "retryq/amqp/connection_options.h"

#include "support/test.h"

namespace retryq::amqp::connection_options_test {

TEST(Describe, ShowsEverythingExceptThePassword) {
  const ConnectionOptions options = {
      .endpoints = {{.host = "a"}, {.host = "::1", .port = 1}},
      .user = "u",
      .password = "Sesame",
      .vhost = "v",
  };
  EXPECT_EQ(Describe(options), "amqp://u@a:5672,[::1]:1 vhost 'v'");
}

TEST(Describe, ShowsTlsAndCertificateLogins) {
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
                                        .initial_frame_max = 4095,
                                        .reconnect_initial = absl::ZeroDuration(),
                                        .reconnect_max = absl::Seconds(-1),
                                        .read_coalescing = absl::Milliseconds(21)});
  for (const char* field : {"endpoints", "vhost", "heartbeat", "connection_timeout", "tls_timeout",
                            "handshake_timeout", "frame_max: 8192", "initial_frame_max",
                            "reconnect_initial", "reconnect_max", "read_coalescing"}) {
    EXPECT_THAT(std::string(status.message()), HasSubstr(field));
  }
}

TEST(Validate, NamesEveryTextWithANulByte) {
  const auto cut = [](const char* text) { return std::string(text) + std::string("\0.evil", 6); };
  const absl::Status status = Validate({.endpoints = {{.host = cut("rabbit")}, {.host = "a b"}},
                                        .tls = TlsOptions{.ca_file = cut("ca"),
                                                          .cert_file = cut("cert"),
                                                          .key_file = cut("key"),
                                                          .server_name = cut("name")},
                                        .user = cut("user"),
                                        .password = cut("Sesame")});
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  const std::string message(status.message());
  for (const char* part : {"host 'rabbit\\u{0}.evil'", "host 'a b'", "user 'user\\u{0}.evil'",
                           "password must", "tls.ca_file must", "tls.cert_file must",
                           "tls.key_file must", "tls.server_name 'name\\u{0}.evil'"}) {
    EXPECT_THAT(message, HasSubstr(part));
  }
  EXPECT_THAT(message, ::testing::Not(HasSubstr("Sesame")));
}

TEST(Validate, AcceptsEveryKindOfHost) {
  for (const char* host : {"rabbit", "rabbit.example.", "10.0.0.1", "::1", "fe80::1%eth0", "a_b-c",
                           "xn--mnchen-3ya.example", "m\xc3\xbcnchen.example"}) {
    EXPECT_EQ(Validate({.endpoints = {{.host = host}}}), absl::OkStatus());
  }
}

TEST(Validate, EnforcesTheBoundsOfReadCoalescing) {
  EXPECT_TRUE(Validate({.read_coalescing = absl::ZeroDuration()}).ok());
  EXPECT_TRUE(Validate({.read_coalescing = absl::Milliseconds(20)}).ok());
  EXPECT_FALSE(Validate({.read_coalescing = absl::Nanoseconds(-1)}).ok());
}

TEST(Validate, EnforcesTheBoundsOfTheHeartbeat) {
  EXPECT_TRUE(Validate({.heartbeat = absl::ZeroDuration()}).ok());
  EXPECT_TRUE(Validate({.heartbeat = absl::Seconds(65535)}).ok());
  EXPECT_FALSE(Validate({.heartbeat = absl::Seconds(65536)}).ok());
  EXPECT_FALSE(Validate({.heartbeat = absl::InfiniteDuration()}).ok());
}

TEST(Validate, AcceptsZeroForTheBrokersLimits) {
  EXPECT_TRUE(Validate({.frame_max = 0, .channel_max = 0}).ok());
}

TEST(Validate, RequiresACertificateForALoginByCertificate) {
  ConnectionOptions options = {.auth_mechanism = AuthMechanism::kExternal};
  EXPECT_THAT(std::string(Validate(options).message()), HasSubstr("auth_mechanism"));
  options.tls.emplace();
  EXPECT_THAT(std::string(Validate(options).message()), HasSubstr("certfile"));
}

}  // namespace retryq::amqp::connection_options_test
