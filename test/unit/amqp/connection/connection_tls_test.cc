// A connection over TLS, to a server in this process.

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <openssl/ssl.h>

#include "absl/strings/match.h"
#include "amqp/transport/tls_client.h"
#include "support/certificates.h"
#include "support/loopback_listener.h"
#include "support/temporary_directory.h"
#include "support/test.h"
#include "unit/amqp/connection_stage.h"

namespace retryq::amqp::connection_tls_test {

using retryq::testing::DemandClientCertificate;
using retryq::testing::Identity;
using retryq::testing::MakeServerContext;
using retryq::testing::ServerContext;
using retryq::testing::TemporaryDirectory;

// A listener that does to each connection what the test says.
class RawServer {
 public:
  using Treatment = std::function<void(bufferevent*)>;

  // `on_input`: called with the stream, and all that came in it, whenever something came.
  RawServer(EventLoop& loop, Treatment on_input)
      : loop_(loop),
        on_input_(std::move(on_input)),
        listener_(loop, [this](evutil_socket_t fd) { Accept(fd); }) {}
  ~RawServer() {
    for (bufferevent* stream : streams_) bufferevent_free(stream);
  }
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;

  Endpoint endpoint() const { return {.host = "127.0.0.1", .port = listener_.port()}; }

 private:
  void Accept(evutil_socket_t fd) {
    bufferevent* stream = bufferevent_socket_new(loop_.base(), fd, BEV_OPT_CLOSE_ON_FREE);
    streams_.push_back(stream);
    bufferevent_setcb(
        stream,
        [](bufferevent* from, void* self) { static_cast<RawServer*>(self)->on_input_(from); },
        nullptr, nullptr, this);
    bufferevent_enable(stream, EV_READ | EV_WRITE);
  }

  EventLoop& loop_;
  const Treatment on_input_;
  const retryq::testing::LoopbackListener listener_;
  std::vector<bufferevent*> streams_;
};

void HangUp(bufferevent* stream) { shutdown(bufferevent_getfd(stream), SHUT_RDWR); }

// Answers with these bytes and hangs up.
RawServer::Treatment Answers(std::string_view bytes) {
  return [bytes](bufferevent* stream) {
    EXPECT_EQ(send(bufferevent_getfd(stream), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    HangUp(stream);
  };
}

class ConnectionTls : public ConnectionStage {
 protected:
  ConnectionTls() {
    options_.password = "Sesame";
    options_.reconnect_initial = absl::Milliseconds(1);
    options_.tls = {.ca_file = files_.Write("ca.pem", authority_.certificate())};
  }
  ~ConnectionTls() override {
    connection_.reset();
    server_.reset();
  }

  // A server that `identity` is the certificate of.
  SSL_CTX* Serve(const Identity& identity, int min = TLS1_2_VERSION, int max = TLS1_3_VERSION) {
    context_ = MakeServerContext(identity, min, max);
    ConnectionStage::Serve(context_.get());
    return context_.get();
  }
  void ServeWell() { Serve(Identity({.common_name = "rabbit"}, authority_)); }

  void UseCertificate(const Identity& identity) {
    options_.tls->cert_file = files_.Write("client.pem", identity.certificate());
    options_.tls->key_file = files_.Write("client.key", identity.key());
  }

  // Why no connection comes about.
  std::string Failure() {
    Connect();
    RunUntil([this] { return !lost_.empty(); });
    EXPECT_EQ(opened_, 0);
    EXPECT_EQ(lost_[0].code(), expected_code_) << lost_[0];
    const std::string message(std::exchange(lost_, {})[0].message());
    EXPECT_THAT(message, HasSubstr(Describe(options_.endpoints[0])));
    EXPECT_THAT(message, Not(HasSubstr("Sesame")));
    return message;
  }
  // The same for a server that does this to its client's first bytes.
  std::string FailureAt(const RawServer::Treatment& treatment) {
    RawServer server(loop_, treatment);
    options_.endpoints = {server.endpoint()};
    std::string failure = Failure();
    connection_.reset();
    return failure;
  }

  TemporaryDirectory files_;
  const Identity authority_{{.common_name = "Our authority", .names = "", .is_authority = true}};
  ServerContext context_;
  absl::StatusCode expected_code_ = absl::StatusCode::kUnavailable;
};

TEST_F(ConnectionTls, AcceptsAddressesNamesAndWildcardsInTheCertificate) {
  struct Case {
    const char* names;
    const char* host;
    const char* server_name;
  };
  for (const Case& each :
       {Case{"IP:127.0.0.1", "127.0.0.1", ""}, Case{"DNS:localhost", "localhost", ""},
        Case{"DNS:*.example.org", "127.0.0.1", "rabbit.example.org"},
        Case{"DNS:rabbit.example.org", "127.0.0.1", "rabbit.example.org."}}) {
    SCOPED_TRACE(each.names);
    Serve(Identity({.names = each.names}, authority_));
    options_.endpoints[0].host = each.host;
    options_.tls->server_name = each.server_name;
    Open();
    EXPECT_TRUE(connection_->is_open());
    connection_.reset();
  }
}

TEST_F(ConnectionTls, TrustsAnIntermediateAuthorityWithoutItsRoot) {
  const Identity intermediate({.common_name = "Ours", .names = "", .is_authority = true},
                              authority_);
  options_.tls->ca_file = files_.Write("intermediate.pem", intermediate.certificate());
  Serve(Identity({.common_name = "rabbit"}, intermediate));
  Open();
}

TEST_F(ConnectionTls, SendsTheServerName) {
  std::string asked_for;
  ServeWell();
  SSL_CTX_set_client_hello_cb(
      context_.get(),
      [](SSL* ssl, int*, void* out) {
        const unsigned char* name = nullptr;
        std::size_t size = 0;
        if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_server_name, &name, &size) == 1) {
          *static_cast<std::string*>(out) =
              std::string(reinterpret_cast<const char*>(name), size).substr(5);
        }
        return SSL_CLIENT_HELLO_SUCCESS;
      },
      &asked_for);
  Open();
  EXPECT_EQ(asked_for, "") << "an address is no name";

  options_.endpoints[0].host = "localhost";
  Open();
  EXPECT_EQ(asked_for, "localhost");

  options_.tls->verify_peer = false;
  options_.tls->server_name = "rabbit.example.org";
  Open();
  EXPECT_EQ(asked_for, "rabbit.example.org");

  options_.tls->server_name = "rabbit.example.org.";
  Open();
  EXPECT_EQ(asked_for, "rabbit.example.org") << "no name in a certificate ends in a dot";
}

// No connection is made without what OpenSSL does not take.
TEST_F(ConnectionTls, ReportsHostsThatOpensslRefuses) {
  const TlsContext context = TlsContext::Create(*options_.tls).value();
  for (const std::string& host :
       {std::string(300, 'h'), std::string("rabbit\0.evil", 12), std::string("."), std::string()}) {
    const absl::Status status = TlsClient::Create(context, host).status();
    EXPECT_TRUE(absl::IsUnavailable(status)) << host.size();
    EXPECT_THAT(std::string(status.message()), HasSubstr("OpenSSL cannot connect to"));
  }
  EXPECT_TRUE(TlsClient::Create(context, "rabbit").ok());
}

TEST_F(ConnectionTls, LogsInWithItsCertificateIfConfigured) {
  SSL_CTX* const server = Serve(Identity({}, authority_));
  DemandClientCertificate(server, authority_);
  UseCertificate(Identity({.common_name = "worker"}, authority_));
  options_.auth_mechanism = AuthMechanism::kExternal;
  server_->mechanisms = "PLAIN EXTERNAL";
  Open();
  EXPECT_EQ(server_->mechanism, "EXTERNAL");
  EXPECT_EQ(server_->login, "");
}

TEST_F(ConnectionTls, TrustsEveryServerIfConfigured) {
  Serve(Identity({.names = "DNS:other", .not_after = absl::Now() - absl::Minutes(1)}));
  options_.tls->verify_peer = false;
  Open();
}

TEST_F(ConnectionTls, TrustsAGivenSelfSignedCertificate) {
  const Identity self_signed({.common_name = "rabbit"});
  Serve(self_signed);
  options_.tls->ca_file = files_.Write("own.pem", self_signed.certificate());
  Open();
}

TEST_F(ConnectionTls, ReportsWhatIsWrongWithACertificate) {
  const absl::Time now = absl::Now();
  const Identity other({.common_name = "Another authority", .names = "", .is_authority = true});
  struct Case {
    Identity identity;
    const char* server_name;
    std::vector<const char*> parts;  // of the message
  };
  const Case cases[] = {
      {Identity({.common_name = "rabbit",
                 .not_before = now - absl::Hours(48),
                 .not_after = absl::FromUnixSeconds(1'700'000'000)},
                authority_),
       "",
       {"its certificate (CN=rabbit) expired on Nov 14 22:13:20 2023 GMT: renew it"}},
      {Identity({.common_name = "rabbit",
                 .not_before = now + absl::Hours(1),
                 .not_after = now + absl::Hours(2)},
                authority_),
       "",
       {"its certificate (CN=rabbit) is not valid before ", "clock"}},
      {Identity({.names = "DNS:rabbit.example.org,DNS:other,IP:10.0.0.1,IP:2001:db8::1"},
                authority_),
       "",
       {"valid for DNS:rabbit.example.org, DNS:other, IP Address:10.0.0.1, "
        "IP Address:2001:DB8:0:0:0:0:0:1, not for '127.0.0.1'",
        "server_name_indication"}},
      {Identity({.common_name = "rabbit"}, authority_),
       "rabbit.example.org",
       {"valid for DNS:localhost, IP Address:127.0.0.1, not for 'rabbit.example.org'"}},
      {Identity({.common_name = "rabbit.example.org", .names = ""}, authority_),
       "rabbit.example.org",
       {"'rabbit.example.org' must be in its subjectAltName"}},
      {Identity({.common_name = "rabbit"}, other),
       "",
       {"(CN=rabbit) is signed by an authority (CN=Another authority) that is not in ca_file '",
        "cacertfile"}},
      {Identity({.common_name = "rabbit"}),
       "",
       {"its certificate (CN=rabbit) is self-signed and not in"}},
      {Identity({.common_name = "evil\n\x1b[2J", .names = ""}, authority_), "", {"evil"}},
      {Identity({.common_name = "rabbit", .names = "DNS:evil\x1b[2J"}, authority_), "", {"evil"}},
      {Identity({.names = "DNS:" + std::string(60, 'a') + ".b,DNS:" + std::string(60, 'c') +
                          ".d,DNS:" + std::string(60, 'e') + ".f,DNS:last"},
                authority_),
       "",
       {"ccc.d, DNS:eee", "e..., not for"}},
      {Identity({.common_name = "", .names = "DNS:rabbit"}, authority_), "", {"(no name)"}},
  };
  for (const Case& each : cases) {
    Serve(each.identity);
    options_.tls->server_name = each.server_name;
    const std::string failure = Failure();
    for (const char* part : each.parts) EXPECT_THAT(failure, HasSubstr(part));
    EXPECT_THAT(failure, AllOf(Not(HasSubstr("\n")), Not(HasSubstr("\x1b"))));
    connection_.reset();
  }
}

TEST_F(ConnectionTls, TrustsTheSystemIfNoAuthorityIsNamed) {
  ServeWell();
  options_.tls->ca_file.clear();
  EXPECT_THAT(Failure(), HasSubstr("that is not in the system's trust store"));
}

// The broker's end says no only after ours is through under TLS 1.3.
class ConnectionTlsVersion : public ConnectionTls, public ::testing::WithParamInterface<int> {
 protected:
  ConnectionTlsVersion() { expected_code_ = absl::StatusCode::kUnauthenticated; }
};

TEST_P(ConnectionTlsVersion, CanLogIn) {
  Serve(Identity({}, authority_), GetParam(), GetParam());
  Open();
}

TEST_P(ConnectionTlsVersion, ReportsAMissingCertificate) {
  SSL_CTX* const server = Serve(Identity({}, authority_), GetParam(), GetParam());
  DemandClientCertificate(server, authority_);
  EXPECT_THAT(Failure(), AllOf(HasSubstr("the server requires a client certificate"),
                               HasSubstr("certfile and keyfile")));
}

TEST_P(ConnectionTlsVersion, ReportsThatItsCertificateIsRefused) {
  SSL_CTX* const server = Serve(Identity({}, authority_), GetParam(), GetParam());
  DemandClientCertificate(server, authority_);
  UseCertificate(Identity({.common_name = "worker"}));
  EXPECT_THAT(Failure(), AllOf(HasSubstr("the server refuses the client certificate in '"),
                               HasSubstr("client.pem'"), HasSubstr("unknown ca")));
}

TEST_P(ConnectionTlsVersion, ReportsThatItsCertificateHasExpired) {
  SSL_CTX* const server = Serve(Identity({}, authority_), GetParam(), GetParam());
  DemandClientCertificate(server, authority_);
  UseCertificate(Identity({.not_after = absl::Now() - absl::Minutes(1)}, authority_));
  EXPECT_THAT(Failure(), AllOf(HasSubstr("the server refuses the client certificate in '"),
                               HasSubstr("expired")));
}

INSTANTIATE_TEST_SUITE_P(Each, ConnectionTlsVersion,
                         ::testing::Values(TLS1_2_VERSION, TLS1_3_VERSION), [](const auto& test) {
                           return test.param == TLS1_2_VERSION ? "Tls12" : "Tls13";
                         });

TEST_F(ConnectionTls, ReportsThatTheVersionIsTooOld) {
  Serve(Identity({}, authority_), TLS1_1_VERSION, TLS1_1_VERSION);
  EXPECT_THAT(Failure(), HasSubstr("the server does not support TLS 1.2 or newer"));
}

TEST_F(ConnectionTls, ReportsThatNoCipherIsShared) {
  SSL_CTX* const server = Serve(Identity({}, authority_), TLS1_2_VERSION, TLS1_2_VERSION);
  SSL_CTX_set_cipher_list(server, "ECDHE-RSA-AES128-SHA");  // it has no RSA key
  EXPECT_THAT(Failure(), HasSubstr("share no TLS version or cipher"));
}

TEST_F(ConnectionTls, ReportsTheReplyOfAServerThatDoesNotSpeakTls) {
  // What RabbitMQ answers to whatever is not the protocol's name.
  EXPECT_THAT(FailureAt(Answers({"AMQP\0\0\x09\x01", 8})),
              HasSubstr("the server does not speak TLS: is it the port for plain AMQP?"));
  EXPECT_THAT(FailureAt(Answers("HTTP/1.1 400 Bad Request\r\n\r\n")),
              HasSubstr("the server does not speak TLS"));
  EXPECT_THAT(FailureAt(HangUp),
              HasSubstr("the server closed the connection during the TLS handshake"));
  EXPECT_THAT(FailureAt(Answers({"\x15\x03\x03\x00\x02\x02\x50", 7})),  // an internal error
              HasSubstr("the server ended TLS with an alert: tlsv1 alert internal error"));
}

TEST_F(ConnectionTls, PassesLargeBodiesBothWays) {
  ServeWell();
  Open();
  const auto channel = OpenChannel();
  std::string body(std::size_t{3} << 20, '\0');
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>(i * 7 + (i >> 12));
  Deliver(1, body);
  RunUntil([this] { return deliveries_.size() == 1; });
  EXPECT_EQ(deliveries_[0]->body, body);

  const auto owner = std::make_shared<std::string>(body);
  channel->Publish(
      {.exchange = "exchange", .routing_key = "key", .body = *owner, .body_owner = owner},
      [](const PublishResult&) {});
  EXPECT_GE(connection_->unsent_bytes(), body.size());
  RunUntil([&] { return server_->content.size() >= body.size(); });
  EXPECT_EQ(server_->content, body);
  RunUntil([this] { return connection_->unsent_bytes() == 0; });
}

TEST_F(ConnectionTls, SendsPublishesAndACloseIfDestroyedAtOnce) {
  ServeWell();
  Open();
  const auto channel = OpenChannel();
  channel->Publish({.exchange = "exchange", .routing_key = "key", .body = "last words"},
                   [](const PublishResult&) {});
  connection_.reset();
  RunUntilHeard("0 connection.close 200");
  EXPECT_EQ(server_->content, "last words");
}

// Certificates are renewed while a program runs.
TEST_F(ConnectionTls, ReadsItsFilesBeforeEachAttempt) {
  const auto await_error = [this](const char* text) {
    RunUntil([&] { return !lost_.empty() && absl::StrContains(lost_.back().message(), text); });
    EXPECT_TRUE(absl::IsUnavailable(lost_.back())) << lost_.back();
  };
  ServeWell();
  Open();
  files_.Write("ca.pem", "");
  server_->HangUp();
  await_error("ca.pem': it is empty");
  files_.Write("ca.pem", Identity({.is_authority = true}).certificate());
  await_error("not in ");
  EXPECT_EQ(opened_, 1);
  files_.Write("ca.pem", authority_.certificate());
  RunUntil([this] { return opened_ == 2; });
}

TEST_F(ConnectionTls, GivesUpOnAPeerThatDoesNotFinishTheHandshake) {
  options_.tls_timeout = absl::Milliseconds(50);
  EXPECT_THAT(FailureAt([](bufferevent*) {}),
              HasSubstr("does not finish the TLS handshake within 50ms"));
}

// libevent tells of the end while what came before it still waits for its turn.
TEST_F(ConnectionTls, HandlesEverythingReceivedBeforeThePeerDisconnects) {
  ServeWell();
  Open();
  const std::unique_ptr<Channel> channel = OpenChannel();
  on_delivery_ = [&] {
    if (deliveries_.size() == 1) server_->HangUp();
    SpinFor(loop_, absl::Milliseconds(5));
  };
  for (std::uint64_t tag = 1; tag <= 30; ++tag) Deliver(tag);
  RunUntil([this] { return !lost_.empty(); });
  EXPECT_EQ(deliveries_.size(), 30U);
}

TEST_F(ConnectionTls, SendsNothingInPlaintext) {
  std::string said;
  FailureAt([&](bufferevent* stream) {
    evbuffer* input = bufferevent_get_input(stream);
    said.resize(evbuffer_get_length(input));
    evbuffer_remove(input, said.data(), said.size());
    HangUp(stream);
  });
  ASSERT_GT(said.size(), 1U);
  EXPECT_EQ(said[0], '\x16');  // a TLS handshake record
  EXPECT_THAT(said, AllOf(Not(HasSubstr("AMQP")), Not(HasSubstr("Sesame"))));
}

TEST_F(ConnectionTls, ReportsThatAPortIsForTls) {
  options_.tls.reset();
  EXPECT_THAT(FailureAt(Answers({"\x15\x03\x03\x00\x02\x02\x46", 7})),
              HasSubstr("the server speaks TLS: use amqps://"));
  EXPECT_THAT(FailureAt(HangUp), HasSubstr("amqps://"));
}

}  // namespace retryq::amqp::connection_tls_test
