#include "cli/management/http_client.h"

#include "support/canned_server.h"
#include "support/certificates.h"
#include "support/temporary_directory.h"
#include "support/test.h"

namespace retryq::cli::http_client_test {

using ::retryq::testing::CannedServer;
using ::retryq::testing::HttpAnswer;
using ::retryq::testing::Identity;

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
  absl::StatusOr<HttpReply> Answered(const std::string& bytes) {
    const CannedServer server(loop_, bytes);
    return Get(To(server), {.timeout = absl::Seconds(30), .max_body = 1000});
  }

  EventLoop loop_;
};

TEST_F(HttpClientTest, ReturnsTheReply) {
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

TEST_F(HttpClientTest, ReturnsEveryStatusAndFollowsNoRedirect) {
  EXPECT_EQ(Answered(HttpAnswer("503 Service Unavailable", "alarm"))->body, "alarm");
  const absl::StatusOr<HttpReply> redirect =
      Answered("HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n");
  ASSERT_TRUE(redirect.ok()) << redirect.status();
  EXPECT_EQ(redirect->status, 301);
}

TEST_F(HttpClientTest, SendsThePathUnchangedAndIgnoresProxies) {
  const CannedServer server(loop_, HttpAnswer("200 OK", "{}"));
  HttpClient client(loop_, To(server));
  ::setenv("http_proxy", "http://127.0.0.1:1", 1);
  ::setenv("all_proxy", "http://127.0.0.1:1", 1);
  const absl::Status status = client.Get("/api/queues/%2F/..").status();  // a queue of that name
  ::unsetenv("http_proxy");
  ::unsetenv("all_proxy");
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(server.requests()[0], StartsWith("GET /api/queues/%2F/.. HTTP/1.1\r\n"));
}

TEST_F(HttpClientTest, DropsOpenRequestsWhenItIsDestroyed) {
  const CannedServer server(loop_, "");
  HttpClient(loop_, To(server)).Get("/api", [](const auto& /*reply*/) { FAIL(); });
  const std::unique_ptr<Timer> stop = loop_.After(absl::Milliseconds(20), [this] { loop_.Stop(); });
  EXPECT_TRUE(loop_.Run().ok());
}

TEST_F(HttpClientTest, TriesEveryAddressAndEveryNode) {
  const CannedServer server(loop_, HttpAnswer("200 OK", "{}"));
  ManagementUrl url = To(server);
  url.endpoint.host = "localhost";  // also ::1, where nothing listens
  EXPECT_TRUE(Get(url).ok()) << Get(url).status();
  for (const std::string gone : {"127.0.0.2", "no.such.host.invalid"}) {
    url.endpoint.host = gone;
    url.more_hosts = {"127.0.0.3", "127.0.0.1"};
    EXPECT_TRUE(Get(url).ok()) << Get(url).status();
  }
}

TEST_F(HttpClientTest, ReportsWhyThereIsNoReply) {
  std::uint16_t port = 0;
  { port = CannedServer(loop_, "").port(); }
  const absl::Status refused =
      Get({.endpoint = {.host = "127.0.0.1", .port = port}, .password = "s3cret"}).status();
  EXPECT_EQ(refused, absl::UnavailableError("http://127.0.0.1:" + std::to_string(port) +
                                            ": Connection refused"));
  const absl::Status unknown = Get({.endpoint = {.host = "no.such.host.invalid"}}).status();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("cannot resolve the host"));

  const CannedServer silent(loop_, "");
  const absl::Status late = Get(To(silent), {.timeout = absl::Milliseconds(50)}).status();
  EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(late.message()), HasSubstr("no response within 50ms"));

  const std::unique_ptr<Timer> stop = loop_.After(absl::Milliseconds(10), [this] { loop_.Stop(); });
  EXPECT_EQ(Get(To(silent), {.timeout = absl::Hours(1)}).status().code(),
            absl::StatusCode::kCancelled);
}

TEST_F(HttpClientTest, RefusesRepliesThatAreTooLargeOrNotHttp) {
  for (const std::string& large : {HttpAnswer("200 OK", std::string(1001, ' ')),
                                   "HTTP/1.1 200 OK\r\n\r\n" + std::string(100'000, ' '),
                                   "HTTP/1.1 200 OK\r\n" + std::string(70, 'x') + ": " +
                                       std::string(70'000, 'x') + "\r\n\r\n"}) {
    EXPECT_EQ(Answered(large).status().code(), absl::StatusCode::kResourceExhausted);
  }
  for (const std::string& bytes :
       {std::string("AMQP\0\0\x09\x01", 8), std::string("SSH-2.0-OpenSSH_9.2\r\n"),
        std::string("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"),
        std::string("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort"),
        std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
        std::string("\r\n\r\n\r\n")}) {
    const absl::Status status = Answered(bytes).status();
    EXPECT_FALSE(status.ok()) << bytes.substr(0, 60);
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("s3cret")));
  }
}

// An https server whose certificate an authority has signed.
class HttpsClientTest : public HttpClientTest {
 protected:
  // Gets from a server with these names in its certificate.
  absl::Status GetFrom(const std::string& names, const amqp::TlsOptions& tls) {
    return GetFrom(Identity({.common_name = "rabbit.example", .names = names}, authority_), tls);
  }
  absl::Status GetFrom(const Identity& identity, const amqp::TlsOptions& tls) {
    const retryq::testing::ServerContext context = retryq::testing::MakeServerContext(identity);
    const CannedServer server(loop_, HttpAnswer("200 OK", "{}"), context.get());
    ManagementUrl url = To(server);
    url.tls = tls;
    return Get(url).status();
  }
  static void ExpectRefused(const absl::Status& status, const std::string& why) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(why));
  }

  const Identity authority_{{.common_name = "authority", .is_authority = true}};
  const Identity broker_{{.common_name = "broker"}, authority_};
  const retryq::testing::TemporaryDirectory files_;
  const std::string ca_ = files_.Write("ca.pem", authority_.certificate());
};

TEST_F(HttpsClientTest, TrustsTheNamedAuthority) {
  EXPECT_EQ(GetFrom(broker_, {.ca_file = ca_}), absl::OkStatus());
  ExpectRefused(GetFrom(broker_, {.ca_file = ca_, .server_name = "other.example"}), "mismatch");
  ExpectRefused(GetFrom(broker_, {}), "cacertfile");
  EXPECT_EQ(GetFrom(broker_, {.verify_peer = false}), absl::OkStatus());
}

TEST_F(HttpsClientTest, ComparesTheWholeHostNameWithTheSubjectAltName) {
  const std::string names = "DNS:rabbit.example";
  EXPECT_EQ(GetFrom(names, {.ca_file = ca_, .server_name = "rabbit.example."}), absl::OkStatus());
  for (const std::string& name :
       {std::string("rabbit.example\0.evil", 20), std::string("."), std::string(300, 'r')}) {
    ExpectRefused(GetFrom(names, {.ca_file = ca_, .server_name = name}), "TLS with '");
  }
  // A common name does not count.
  ExpectRefused(GetFrom("", {.ca_file = ca_, .server_name = "rabbit.example"}), "mismatch");
}

TEST_F(HttpsClientTest, TrustsTheAuthoritiesOfTheSystemOnlyIfNoneIsNamed) {
  const Identity other({.common_name = "other", .is_authority = true});
  ::setenv("SSL_CERT_FILE", ca_.c_str(), 1);
  const absl::Status by_system = GetFrom(broker_, {});
  const absl::Status by_file =
      GetFrom(broker_, {.ca_file = files_.Write("other.pem", other.certificate())});
  ::unsetenv("SSL_CERT_FILE");
  EXPECT_EQ(by_system, absl::OkStatus());
  EXPECT_EQ(by_file.code(), absl::StatusCode::kFailedPrecondition) << by_file;
}

TEST_F(HttpsClientTest, PresentsItsOwnCertificate) {
  const Identity own({.common_name = "retryq"}, authority_);
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const retryq::testing::ServerContext context =
        retryq::testing::MakeServerContext(broker_, version, version);
    retryq::testing::DemandClientCertificate(context.get(), authority_);
    const CannedServer server(loop_, HttpAnswer("200 OK", "{}"), context.get());
    ManagementUrl url = To(server);
    url.tls = amqp::TlsOptions{.ca_file = ca_};
    EXPECT_FALSE(Get(url).ok());
    url.tls->cert_file = files_.Write("own.pem", own.certificate());
    url.tls->key_file = files_.Write("own.key", own.key());
    EXPECT_TRUE(Get(url).ok()) << Get(url).status();
  }
}

TEST_F(HttpsClientTest, NamesAFileThatCannotBeUsed) {
  const absl::Status missing = GetFrom(broker_, {.ca_file = "/no/such/file.pem"});
  EXPECT_EQ(missing.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(missing.message()), HasSubstr("cacertfile '/no/such/file.pem'"));
  for (const std::string& key : {std::string("no key"), broker_.encrypted_key("secret")}) {
    const std::string file = files_.Write("own.key", key);
    const absl::Status status =
        GetFrom(broker_, {.ca_file = ca_,
                          .cert_file = files_.Write("own.pem", broker_.certificate()),
                          .key_file = file});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("keyfile '" + file + "'"));
  }
}

const amqp::ConnectionOptions kBroker = {.user = "broker-user", .password = "broker-password"};

ManagementUrl Parsed(const std::string& url) {
  const absl::StatusOr<ManagementUrl> parsed = ParseManagementUrl(url, kBroker);
  EXPECT_TRUE(parsed.ok()) << url << ": " << parsed.status();
  return parsed.value_or(ManagementUrl());
}

TEST(ManagementUrl, HasAllPartsOrTheirDefaults) {
  for (const auto& [url, parts] : std::vector<std::pair<std::string, std::string>>{
           {"http://some%40body:p%2fw@rabbit:15672/behind/proxy/",
            "some@body p/w http://rabbit:15672/behind/proxy"},
           {"http://rabbit", "broker-user broker-password http://rabbit:80"},
           {"http://other:x@rabbit:5672", "other x http://rabbit:5672"},
           {"https://rabbit/", "broker-user broker-password https://rabbit:443"},
           {"http://u:p@[::1]", "u p http://[::1]:80"},
           {"http://u:p@[::1]:99", "u p http://[::1]:99"},
           {"http://u:p@rabbit:15672/api/", "u p http://rabbit:15672"},
           {"http://u:p@rabbit:15672/mq/api", "u p http://rabbit:15672/mq"}}) {
    const ManagementUrl parsed = Parsed(url);
    EXPECT_EQ(absl::StrCat(parsed.user, " ", parsed.password, " ", Describe(parsed)), parts);
  }
  const ManagementUrl url = Parsed("https://rabbit?cacertfile=/ca.pem&verify=verify_none");
  ASSERT_TRUE(url.tls.has_value());
  EXPECT_EQ(url.tls->ca_file, "/ca.pem");
  EXPECT_FALSE(url.tls->verify_peer);
}

// Nor does it read a part of the password as the host.
TEST(ManagementUrl, IsRefusedWithoutShowingItsPassword) {
  for (const std::string url :
       {"", "rabbit:15672", "ftp://rabbit", "amqp://rabbit", "http://u:s3cret@rabbit:99999",
        "http://u:s3cret%@rabbit", "http://u:s3cret@::1:1", "http://u:s3cret@rabbit?heartbeat=x",
        "http://u:s3cret@rabbit?cacertfile=/x", "http://u:s3cret@rabbit/a b",
        "http://me:s3cret/34@host", "http://me:p@s3cret/b@host:15672", "http://host/s3cret@b",
        "https://me:s3cret@a?b@host", "http://me:s3cret?34@host/api"}) {
    const absl::Status status = ParseManagementUrl(url, kBroker).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << url;
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("s3cret")));
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("AMQP URI")));
  }
}

// NUL would end the host that TLS verifies, or the path.
TEST(ManagementUrl, IsRefusedWithControlCharactersAndBlanks) {
  const std::string shape =
      "https://userx:passwordx@hostx/pathx?cacertfile=filex&server_name_indication=namex";
  for (const char* part : {"user", "password", "host", "path", "file", "name"}) {
    for (const int code : {0, 9, 10, 32, 127}) {
      std::string url = shape;
      url.insert(url.find(std::string(part) + "x") + std::string(part).size(), 1,
                 static_cast<char>(code));
      EXPECT_TRUE(absl::IsInvalidArgument(ParseManagementUrl(url, kBroker).status()))
          << part << " " << code;
    }
  }
  EXPECT_FALSE(ParseManagementUrl("https://host%00.evil", kBroker).ok());
  EXPECT_FALSE(ParseManagementUrl("https://us%00er@host", kBroker).ok());
  EXPECT_TRUE(ParseManagementUrl(shape, kBroker).ok());
}

TEST(ManagementUrl, IsOnTheBrokersHostsByDefault) {
  amqp::ConnectionOptions broker = kBroker;
  broker.endpoints = {{.host = "one", .port = 1}, {.host = "two", .port = 2}};
  EXPECT_EQ(Describe(DefaultManagementUrl(broker)), "http://one:15672");
  EXPECT_THAT(DefaultManagementUrl(broker).more_hosts, ::testing::ElementsAre("two"));
  EXPECT_EQ(DefaultManagementUrl(broker).user, "broker-user");
  broker.tls = amqp::TlsOptions{.ca_file = "/ca.pem"};
  EXPECT_EQ(Describe(DefaultManagementUrl(broker)), "https://one:15671");
  EXPECT_EQ(DefaultManagementUrl(broker).tls->ca_file, "/ca.pem");
}

TEST(SameHost, IsFoundByNameOrByAnyAddress) {
  EXPECT_EQ(IsSameHost("Rabbit.Example.", "rabbit.example"), true);
  EXPECT_EQ(IsSameHost("0:0:0:0:0:0:0:1", "127.0.1.1"), true);  // all loopback addresses
  EXPECT_EQ(IsSameHost("192.0.2.1", "192.0.2.2"), false);
  EXPECT_EQ(IsSameHost("192.0.2.1", std::string(300, 'h')), std::nullopt);
}

}  // namespace retryq::cli::http_client_test
