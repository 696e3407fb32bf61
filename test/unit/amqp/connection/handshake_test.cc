#include "amqp/connection/handshake.h"

#include "amqp/codec/frame.h"
#include "amqp/codec/method_codec.h"
#include "support/test.h"

namespace retryq::amqp::handshake_test {

class HandshakeTest : public ::testing::Test {
 protected:
  // What the client says to `method`.
  absl::StatusOr<bool> Say(const ServerMethod& method) {
    said_.clear();
    return handshake_->OnMethod(method, &said_);
  }
  absl::StatusOr<bool> Start(std::string_view mechanisms = "AMQPLAIN PLAIN") {
    server_properties_ = Table{{"version", version_}}.Encode().value();
    return Say(method::ConnectionStart{.server_properties = TableView(server_properties_),
                                       .mechanisms = {mechanisms},
                                       .locales = {"en_US"}});
  }
  absl::StatusOr<bool> Tune(method::ConnectionTune tune = {
                                .channel_max = 2047, .frame_max = 131072, .heartbeat = 60}) {
    return Say(tune);
  }
  absl::Status Close(std::uint16_t code, std::string_view text) {
    return Say(method::ConnectionClose{.reply_code = code, .reply_text = text}).status();
  }

  // The number-th method in what was said last; its views point into said_.
  template <typename Method>
  Method Said(std::size_t number = 0) {
    std::string_view rest = said_;
    for (;; --number) {
      const FrameView frame = **NextFrame(rest, 131072);
      if (number == 0) return std::get<Method>(*DecodeClientMethod(frame.payload));
      rest.remove_prefix(frame.frame_size());
    }
  }

  ConnectionOptions options_ = {.user = "me",
                                .password = "Sesame",
                                .vhost = "shop",
                                .connection_name = "test",
                                .heartbeat = absl::Seconds(15)};
  Endpoint endpoint_ = {.host = "rabbit", .port = 5673};
  std::string version_ = "3.10.8";
  std::optional<Handshake> handshake_{std::in_place, options_, endpoint_};
  std::string server_properties_;
  std::string said_;
};

TEST_F(HandshakeTest, LogsInAndSendsItsProperties) {
  EXPECT_EQ(Start().value(), false);
  const auto start_ok = Said<method::ConnectionStartOk>();
  EXPECT_EQ(start_ok.mechanism, "PLAIN");
  EXPECT_EQ(start_ok.response.bytes, std::string_view("\0me\0Sesame", 10));
  EXPECT_EQ(start_ok.client_properties.FindString("product"), "retryq");
  EXPECT_EQ(start_ok.client_properties.FindString("connection_name"), "test");
  const Table properties = start_ok.client_properties.Decode().value();
  const auto* capabilities = properties.Find("capabilities");
  ASSERT_NE(capabilities, nullptr);
  const auto& table = *std::get<std::shared_ptr<const Table>>(capabilities->variant);
  for (const char* name :
       {"publisher_confirms", "basic.nack", "consumer_cancel_notify", "connection.blocked",
        "authentication_failure_close", "exchange_exchange_bindings"}) {
    ASSERT_NE(table.Find(name), nullptr) << name;
    EXPECT_EQ(*table.Find(name), Value(true)) << name;
  }
  EXPECT_EQ(handshake_->server_version(), "3.10.8");
}

TEST_F(HandshakeTest, UsesTheSmallerOfBothLimits) {
  struct Limits {
    std::uint16_t channel_max;
    std::uint32_t frame_max;
    std::uint16_t heartbeat;  // seconds
  };
  struct Case {
    const char* when;
    Limits own;
    Limits brokers;
    Limits used;
  };
  for (const Case& each :
       {Case{"some of the broker's are smaller",
             {2047, 131072, 15},
             {100, 200000, 10},
             {100, 131072, 10}},
        Case{"the broker is unlimited", {2047, 131072, 15}, {0, 0, 0}, {2047, 131072, 15}},
        Case{"the client is unlimited", {0, 0, 15}, {100, 200000, 10}, {100, 200000, 10}},
        Case{"neither limits frames", {0, 0, 15}, {100, 0, 10}, {100, 1U << 20, 10}},
        Case{"the client has no heartbeat", {2047, 131072, 0}, {1, 8192, 7}, {1, 8192, 7}}}) {
    SCOPED_TRACE(each.when);
    options_.channel_max = each.own.channel_max;
    options_.frame_max = each.own.frame_max;
    options_.heartbeat = absl::Seconds(each.own.heartbeat);
    handshake_.emplace(options_, endpoint_);
    EXPECT_TRUE(Start().ok());
    EXPECT_TRUE(Tune({.channel_max = each.brokers.channel_max,
                      .frame_max = each.brokers.frame_max,
                      .heartbeat = each.brokers.heartbeat})
                    .ok());
    EXPECT_EQ(handshake_->tuning().channel_max, each.used.channel_max);
    EXPECT_EQ(handshake_->tuning().frame_max, each.used.frame_max);
    EXPECT_EQ(handshake_->tuning().heartbeat, absl::Seconds(each.used.heartbeat));
    const auto tune_ok = Said<method::ConnectionTuneOk>();
    EXPECT_EQ(tune_ok.channel_max, each.used.channel_max);
    EXPECT_EQ(tune_ok.frame_max, each.used.frame_max);
    EXPECT_EQ(tune_ok.heartbeat, each.used.heartbeat);
  }
}

TEST_F(HandshakeTest, NamesThePluginThatALoginByCertificateNeeds) {
  options_.auth_mechanism = AuthMechanism::kExternal;
  EXPECT_THAT(std::string(Start("PLAIN").status().message()),
              HasSubstr("rabbitmq_auth_mechanism_ssl"));
}

TEST_F(HandshakeTest, NamesTheRefusedUserOfACertificate) {
  options_.auth_mechanism = AuthMechanism::kExternal;
  EXPECT_TRUE(Start("EXTERNAL").ok());
  const absl::Status status = Close(403, "ACCESS_REFUSED");
  EXPECT_TRUE(absl::IsUnauthenticated(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("the user of the client certificate"));
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("'me'")));
}

TEST_F(HandshakeTest, ReportsAWrongPassword) {
  EXPECT_TRUE(Start().ok());
  const absl::Status status = Close(403, "ACCESS_REFUSED - Login was refused");
  EXPECT_TRUE(absl::IsUnauthenticated(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("rabbit:5673"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("user 'me'"));
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("Sesame")));
  Said<method::ConnectionCloseOk>();
}

TEST_F(HandshakeTest, DoesNotTreatAClosedConnectionAsARefusal) {
  EXPECT_TRUE(absl::IsUnavailable(handshake_->OnHungUp()));
  EXPECT_TRUE(Start().ok());
  EXPECT_TRUE(absl::IsUnavailable(handshake_->OnHungUp()));
  EXPECT_THAT(std::string(handshake_->OnHungUp().message()),
              AllOf(HasSubstr("rabbit:5673"), HasSubstr("user 'me'"), Not(HasSubstr("password"))));
  EXPECT_TRUE(Tune().ok());
  EXPECT_TRUE(absl::IsUnavailable(handshake_->OnHungUp()));
}

// Whatever it is that is too long.
TEST_F(HandshakeTest, SendsNoLoginThatExceedsTheBrokersLimit) {
  struct Case {
    const char* version;
    std::uint32_t initial_frame_max;
    std::size_t limit;
  };
  for (const Case& each : {Case{"3.10.8", 0, 4096}, Case{"4.0.5", 0, 4096}, Case{"4.1.0", 0, 8192},
                           Case{"4.3.6", 0, 8192}, Case{"10.0.0", 0, 8192}, Case{"", 0, 4096},
                           Case{"4.x", 0, 4096}, Case{"3.10.8", 20000, 20000}}) {
    version_ = each.version;
    options_.initial_frame_max = each.initial_frame_max;
    for (std::string* text : {&options_.user, &options_.password, &options_.connection_name}) {
      const std::string before = *text;
      std::size_t most = 0;  // that is sent
      absl::Status refused;
      for (text->assign(each.limit - 600, 'x'); most <= each.limit; text->push_back('x')) {
        handshake_.emplace(options_, endpoint_);
        refused = Start().status();
        if (!refused.ok()) break;
        most = said_.size();
      }
      EXPECT_EQ(most, each.limit) << each.version;
      EXPECT_EQ(said_, "");
      EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
      EXPECT_THAT(std::string(refused.message()),
                  AllOf(HasSubstr("rabbit:5673"), HasSubstr(absl::StrCat(each.limit)),
                        HasSubstr("initial_frame_max"), Not(HasSubstr("Sesame"))));
      *text = before;
    }
  }
}

TEST_F(HandshakeTest, DistinguishesTheRefusalsOfAVhost) {
  EXPECT_TRUE(Start().ok());
  EXPECT_TRUE(Tune().ok());
  EXPECT_TRUE(absl::IsNotFound(Close(530, "NOT_ALLOWED - vhost shop not found")));
  EXPECT_TRUE(absl::IsPermissionDenied(
      Close(530, "NOT_ALLOWED - access to vhost 'shop' refused for user 'me'")));
  EXPECT_TRUE(absl::IsUnavailable(Close(530,
                                        "NOT_ALLOWED - access to vhost 'shop' refused for user "
                                        "'me': connection limit (1) is reached")));
  EXPECT_TRUE(absl::IsUnavailable(Close(530, "NOT_ALLOWED - vhost 'shop' is down")));
  EXPECT_TRUE(absl::IsUnavailable(Close(541, "INTERNAL_ERROR")));
}

// RabbitMQ cuts the text off after 255 bytes, and RabbitMQ 4 closes with 541 if it is not ASCII.
TEST_F(HandshakeTest, RecognizesTheRefusalOfALongVhost) {
  options_.vhost = std::string(250, 'v');
  EXPECT_TRUE(Start().ok());
  EXPECT_TRUE(Tune().ok());
  const std::string begins = "NOT_ALLOWED - vhost ";
  EXPECT_TRUE(absl::IsNotFound(Close(530, begins + std::string(232, 'v') + "...")));
  EXPECT_TRUE(absl::IsUnavailable(Close(530, begins + "'" + std::string(231, 'v') + "...")));
  options_.vhost.replace(0, 2, "\u00fc");
  EXPECT_TRUE(absl::IsNotFound(Close(541, "INTERNAL_ERROR")));
}

}  // namespace retryq::amqp::handshake_test
