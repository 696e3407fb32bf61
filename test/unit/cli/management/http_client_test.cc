#include "cli/management/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "support/canned_server.h"
#include "support/certificates.h"
#include "support/temporary_directory.h"

namespace retryq::cli {
namespace http_client_test {

using ::retryq::testing::CannedServer;
using ::retryq::testing::HttpAnswer;
using ::retryq::testing::Identity;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class HttpClientTest : public ::testing::Test {
 protected:
  static ManagementUrl To(const CannedServer& server) {
    return {.endpoint = {.host = "127.0.0.1", .port = server.port()},
            .user = "some:body",
            .password = "s3cret"};
  }

  absl::StatusOr<HttpReply> Get(const ManagementUrl& url, HttpClient::Options options = {}) {
    return HttpClient(loop_, url, options).Get("/api/overview?page=1");
  }

  // What comes of an answer.
  absl::StatusOr<HttpReply> Answered(const std::string& bytes) {
    const CannedServer server(loop_, bytes);
    return Get(To(server), {.timeout = absl::Seconds(30), .max_body = 1000});
  }

  EventLoop loop_;
};

TEST_F(HttpClientTest, GetsWhatIsAnswered) {
  const CannedServer server(loop_, HttpAnswer("200 OK", "{}"));
  ManagementUrl url = To(server);
  url.path_prefix = "/rabbit";
  const absl::StatusOr<HttpReply> reply = Get(url);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->status, 200);
  EXPECT_EQ(reply->body, "{}");
  EXPECT_EQ(reply->date, absl::FromUnixSeconds(1795330918));
  EXPECT_LE(reply->sent, reply->received);
  ASSERT_EQ(server.requests().size(), 1U);
  EXPECT_THAT(server.requests()[0], StartsWith("GET /rabbit/api/overview?page=1 HTTP/1.1\r\n"));
  EXPECT_THAT(server.requests()[0], HasSubstr("Authorization: Basic c29tZTpib2R5OnMzY3JldA==\r\n"));
}

TEST_F(HttpClientTest, TakesEveryStatusForAReply) {
  const absl::StatusOr<HttpReply> reply = Answered(HttpAnswer("503 Service Unavailable", "alarm"));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->status, 503);
  EXPECT_EQ(reply->body, "alarm");
}

TEST_F(HttpClientTest, FollowsNoRedirect) {
  const absl::StatusOr<HttpReply> reply =
      Answered("HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n");
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->status, 301);
}

TEST_F(HttpClientTest, SendsThePathAsItIs) {
  const CannedServer server(loop_, HttpAnswer("200 OK", "{}"));
  HttpClient client(loop_, To(server));
  ASSERT_TRUE(client.Get("/api/queues/%2F/..").ok());  // a queue of that name
  EXPECT_THAT(server.requests()[0], StartsWith("GET /api/queues/%2F/.. HTTP/1.1\r\n"));
}

TEST_F(HttpClientTest, IgnoresTheProxyOfTheEnvironment) {
  ::setenv("http_proxy", "http://127.0.0.1:1", 1);
  ::setenv("all_proxy", "http://127.0.0.1:1", 1);
  const absl::StatusOr<HttpReply> reply = Answered(HttpAnswer("200 OK", "{}"));
  ::unsetenv("http_proxy");
  ::unsetenv("all_proxy");
  EXPECT_TRUE(reply.ok()) << reply.status();
}

TEST_F(HttpClientTest, CanBeUsedAgain) {
  const CannedServer server(loop_, HttpAnswer("200 OK", "{}"));
  HttpClient client(loop_, To(server));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(client.Get("/api").ok());
  EXPECT_EQ(server.requests().size(), 3U);
}

TEST_F(HttpClientTest, TriesEveryAddressOfAHost) {
  // "localhost" is ::1 as well, where nobody listens.
  const CannedServer server(loop_, HttpAnswer("200 OK", "{}"));
  ManagementUrl url = To(server);
  url.endpoint.host = "localhost";
  const absl::StatusOr<HttpReply> reply = Get(url);
  EXPECT_TRUE(reply.ok()) << reply.status();
}

TEST_F(HttpClientTest, AsksTheOtherNodesOfAClusterWhereOneIsGone) {
  const CannedServer server(loop_, HttpAnswer("200 OK", "{}"));
  ManagementUrl url = To(server);
  for (const std::string gone : {"127.0.0.2", "no.such.host.invalid"}) {
    url.endpoint.host = gone;
    url.more_hosts = {"127.0.0.3", "127.0.0.1"};
    const absl::StatusOr<HttpReply> reply = Get(url);
    EXPECT_TRUE(reply.ok()) << reply.status();
  }
}

TEST_F(HttpClientTest, SaysWhyThereIsNoConnection) {
  std::uint16_t port = 0;
  { port = CannedServer(loop_, "").port(); }
  const absl::Status status =
      Get({.endpoint = {.host = "127.0.0.1", .port = port}, .password = "s3cret"}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(status.message(),
              ::testing::Eq("http://127.0.0.1:" + std::to_string(port) + ": Connection refused"));
  const absl::Status unknown = Get({.endpoint = {.host = "no.such.host.invalid"}}).status();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("the host is not known"));
}

TEST_F(HttpClientTest, GivesUpWhereNothingIsAnswered) {
  const CannedServer server(loop_, "");
  const absl::Status status = Get(To(server), {.timeout = absl::Milliseconds(50)}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no answer within 50ms"));
}

TEST_F(HttpClientTest, EndsAtOnceWhenTheLoopIsStopped) {
  const CannedServer server(loop_, "");
  const std::unique_ptr<Timer> stop = loop_.After(absl::Milliseconds(10), [this] { loop_.Stop(); });
  EXPECT_EQ(Get(To(server), {.timeout = absl::Hours(1)}).status().code(),
            absl::StatusCode::kCancelled);
}

TEST_F(HttpClientTest, TakesNothingThatIsNoHttpOrTooLarge) {
  EXPECT_EQ(Answered(HttpAnswer("200 OK", std::string(1001, ' '))).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Answered("HTTP/1.1 200 OK\r\n\r\n" + std::string(100'000, ' ')).status().code(),
            absl::StatusCode::kResourceExhausted);
  for (const std::string& bytes :
       {std::string("AMQP\0\0\x09\x01", 8), std::string("SSH-2.0-OpenSSH_9.2\r\n"),
        "HTTP/1.1 200 OK\r\nx: " + std::string(200'000, 'x'),
        std::string("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"),
        std::string("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort"),
        std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
        std::string("\r\n\r\n\r\n")}) {
    const absl::Status status = Answered(bytes).status();
    EXPECT_FALSE(status.ok()) << bytes.substr(0, 60);
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("s3cret")));
  }
}

TEST_F(HttpClientTest, TrustsWhomItIsToldToTrust) {
  const Identity authority({.common_name = "authority", .is_authority = true});
  const Identity identity({.common_name = "broker"}, authority);
  const retryq::testing::ServerContext context = retryq::testing::MakeServerContext(identity);
  const CannedServer server(loop_, HttpAnswer("200 OK", "{}"), context.get());
  const retryq::testing::TemporaryDirectory files;
  ManagementUrl url = To(server);
  url.tls = amqp::TlsOptions{.ca_file = files.Write("ca.pem", authority.certificate())};
  EXPECT_TRUE(Get(url).ok()) << Get(url).status();

  url.tls->server_name = "other.example";
  EXPECT_THAT(std::string(Get(url).status().message()), HasSubstr("mismatch"));

  url.tls = amqp::TlsOptions{};
  const absl::Status untrusted = Get(url).status();
  EXPECT_EQ(untrusted.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(untrusted.message()), HasSubstr("its certificate: "));
  EXPECT_THAT(std::string(untrusted.message()), HasSubstr("cacertfile"));

  url.tls->verify_peer = false;
  EXPECT_TRUE(Get(url).ok()) << Get(url).status();
}

TEST_F(HttpClientTest, LooksForNoDotAtTheEndOfANameAndForNoPartOfOne) {
  const Identity authority({.common_name = "authority", .is_authority = true});
  const Identity identity({.common_name = "broker", .names = "DNS:rabbit.example"}, authority);
  const retryq::testing::ServerContext context = retryq::testing::MakeServerContext(identity);
  const CannedServer server(loop_, HttpAnswer("200 OK", "{}"), context.get());
  const retryq::testing::TemporaryDirectory files;
  ManagementUrl url = To(server);
  url.tls = amqp::TlsOptions{.ca_file = files.Write("ca.pem", authority.certificate()),
                             .server_name = "rabbit.example."};
  EXPECT_TRUE(Get(url).ok()) << Get(url).status();

  for (const std::string& name :
       {std::string("rabbit.example\0.evil", 20), std::string("."), std::string(300, 'r')}) {
    url.tls->server_name = name;
    const absl::Status status = Get(url).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("OpenSSL cannot connect to"));
  }
}

TEST_F(HttpClientTest, TakesNoCommonNameForTheNameOfAHost) {
  const Identity authority({.common_name = "authority", .is_authority = true});
  const Identity identity({.common_name = "rabbit.example", .names = ""}, authority);
  const retryq::testing::ServerContext context = retryq::testing::MakeServerContext(identity);
  const CannedServer server(loop_, HttpAnswer("200 OK", "{}"), context.get());
  const retryq::testing::TemporaryDirectory files;
  ManagementUrl url = To(server);
  url.tls = amqp::TlsOptions{.ca_file = files.Write("ca.pem", authority.certificate()),
                             .server_name = "rabbit.example"};
  const absl::Status status = Get(url).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("'rabbit.example' is not in its subjectAltName"));
}

TEST_F(HttpClientTest, TrustsTheSystemsAuthoritiesOnlyWhereNoneIsNamed) {
  const Identity authority({.common_name = "authority", .is_authority = true});
  const Identity other({.common_name = "other", .is_authority = true});
  const Identity identity({.common_name = "broker"}, authority);
  const retryq::testing::ServerContext context = retryq::testing::MakeServerContext(identity);
  const CannedServer server(loop_, HttpAnswer("200 OK", "{}"), context.get());
  const retryq::testing::TemporaryDirectory files;
  ManagementUrl url = To(server);
  ::setenv("SSL_CERT_FILE", files.Write("system.pem", authority.certificate()).c_str(), 1);
  url.tls = amqp::TlsOptions{};
  const absl::Status by_system = Get(url).status();
  url.tls->ca_file = files.Write("other.pem", other.certificate());
  const absl::Status by_file = Get(url).status();
  ::unsetenv("SSL_CERT_FILE");
  EXPECT_TRUE(by_system.ok()) << by_system;
  EXPECT_EQ(by_file.code(), absl::StatusCode::kFailedPrecondition) << by_file;
}

TEST_F(HttpClientTest, ShowsItsOwnCertificate) {
  const Identity authority({.common_name = "authority", .is_authority = true});
  const Identity identity({.common_name = "broker"}, authority);
  const Identity own({.common_name = "retryq"}, authority);
  const retryq::testing::TemporaryDirectory files;
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const retryq::testing::ServerContext context =
        retryq::testing::MakeServerContext(identity, version, version);
    retryq::testing::DemandClientCertificate(context.get(), authority);
    const CannedServer server(loop_, HttpAnswer("200 OK", "{}"), context.get());
    ManagementUrl url = To(server);
    url.tls = amqp::TlsOptions{.ca_file = files.Write("ca.pem", authority.certificate())};
    EXPECT_FALSE(Get(url).ok());
    url.tls->cert_file = files.Write("own.pem", own.certificate());
    url.tls->key_file = files.Write("own.key", own.key());
    EXPECT_TRUE(Get(url).ok()) << Get(url).status();
  }
}

TEST_F(HttpClientTest, SaysWhichOfTlsFilesWillNotDo) {
  const Identity authority({.common_name = "authority", .is_authority = true});
  const Identity identity({.common_name = "broker"}, authority);
  const retryq::testing::ServerContext context = retryq::testing::MakeServerContext(identity);
  const CannedServer server(loop_, HttpAnswer("200 OK", "{}"), context.get());
  const retryq::testing::TemporaryDirectory files;
  ManagementUrl url = To(server);
  url.tls = amqp::TlsOptions{.ca_file = "/no/such/file.pem"};
  const absl::Status status = Get(url).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("cacertfile '/no/such/file.pem'"));

  url.tls->ca_file = files.Write("ca.pem", authority.certificate());
  url.tls->cert_file = files.Write("own.pem", identity.certificate());
  for (const std::string& key : {std::string("no key"), identity.encrypted_key("secret")}) {
    url.tls->key_file = files.Write("own.key", key);
    const absl::Status refused = Get(url).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("keyfile '" + url.tls->key_file + "'"));
  }
}

TEST(PercentEncode, LeavesNothingThatMeansSomething) {
  EXPECT_EQ(PercentEncode("/"), "%2F");
  EXPECT_EQ(PercentEncode("a b&c=d?e#f\xff"), "a%20b%26c%3Dd%3Fe%23f%FF");
  EXPECT_EQ(PercentEncode("plain-._~"), "plain-._~");
  EXPECT_EQ(PercentEncode(""), "");
}

}  // namespace http_client_test
}  // namespace retryq::cli
