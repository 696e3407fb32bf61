#include "cli/management/management_url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace retryq::cli {
namespace management_url_test {

using ::testing::HasSubstr;
using ::testing::Not;

const amqp::ConnectionOptions kBroker = {.user = "broker-user", .password = "broker-password"};

ManagementUrl Parsed(const std::string& url) {
  const absl::StatusOr<ManagementUrl> parsed = ParseManagementUrl(url, kBroker);
  EXPECT_TRUE(parsed.ok()) << url << ": " << parsed.status();
  return parsed.value_or(ManagementUrl());
}

TEST(ManagementUrl, HasAllParts) {
  const ManagementUrl url = Parsed("http://some%40body:p%2fw@rabbit.example:15672/behind/proxy/");
  EXPECT_EQ(url.endpoint, (amqp::Endpoint{.host = "rabbit.example", .port = 15672}));
  EXPECT_EQ(url.user, "some@body");
  EXPECT_EQ(url.password, "p/w");
  EXPECT_EQ(url.path_prefix, "/behind/proxy");
  EXPECT_FALSE(url.tls.has_value());
  EXPECT_EQ(Describe(url), "http://rabbit.example:15672/behind/proxy");
}

TEST(ManagementUrl, HasDefaultsForItsParts) {
  EXPECT_EQ(Parsed("http://rabbit").user, "broker-user");
  EXPECT_EQ(Parsed("http://rabbit").password, "broker-password");
  EXPECT_EQ(Parsed("http://other:x@rabbit").user, "other");
  EXPECT_EQ(Parsed("http://rabbit").endpoint.port, 80);
  EXPECT_EQ(Parsed("https://rabbit/").endpoint.port, 443);
  EXPECT_EQ(Parsed("http://u:p@[::1]").endpoint, (amqp::Endpoint{.host = "::1", .port = 80}));
  EXPECT_EQ(Parsed("http://u:p@[::1]:99").endpoint.port, 99);
  EXPECT_EQ(Parsed("http://rabbit:5672").endpoint.port, 5672);
  EXPECT_EQ(Parsed("http://rabbit:15672/api/").path_prefix, "");
  EXPECT_EQ(Parsed("http://rabbit:15672/mq/api").path_prefix, "/mq");
  const ManagementUrl url = Parsed("https://rabbit?cacertfile=/ca.pem&verify=verify_none");
  ASSERT_TRUE(url.tls.has_value());
  EXPECT_EQ(url.tls->ca_file, "/ca.pem");
  EXPECT_FALSE(url.tls->verify_peer);
}

TEST(ManagementUrl, IsRefusedWithoutShowingItsPassword) {
  for (const std::string url :
       {"", "rabbit:15672", "ftp://rabbit", "amqp://rabbit", "http://u:s3cret@rabbit:99999",
        "http://u:s3cret%@rabbit", "http://u:s3cret@::1:1", "http://u:s3cret@rabbit?heartbeat=x",
        "http://u:s3cret@rabbit?cacertfile=/x", "http://u:s3cret@rabbit/a b"}) {
    const absl::Status status = ParseManagementUrl(url, kBroker).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << url;
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("s3cret")));
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("AMQP URI")));
  }
}

TEST(ManagementUrl, NeverTakesAPartOfThePasswordAsTheHost) {
  for (const char* url : {"http://me:12/34@host", "http://me:p@a/b@host:15672", "http://host/a@b",
                          "https://me:p@a?b@host", "http://me:12?34@host/api"}) {
    const absl::Status status = ParseManagementUrl(url, {}).status();
    EXPECT_THAT(std::string(status.message()), HasSubstr("must be percent-encoded")) << url;
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
  const std::map<std::string, std::vector<std::string>> hosts = {
      {"rabbit", {"10.0.0.1", "fd00::1"}},
      {"rabbit.internal", {"fd00::1"}},
      {"other", {"10.0.0.2"}},
      {"me", {"127.0.1.1"}},
      {"six", {"::1"}}};
  const auto is_same = [&](const std::string& a, const std::string& b) {
    return IsSameHost(a, b, absl::Seconds(20), [&hosts](const std::string& host) {
      const auto found = hosts.find(host);
      return found == hosts.end() ? std::vector<std::string>() : found->second;
    });
  };
  EXPECT_EQ(is_same("Rabbit.Example.", "rabbit.example"), true);
  EXPECT_EQ(is_same("rabbit.example", "other.example"), std::nullopt);
  EXPECT_EQ(is_same("rabbit", "rabbit.internal"), true);
  EXPECT_EQ(is_same("rabbit", "other"), false);
  EXPECT_EQ(is_same("me", "six"), true);  // all loopback addresses
  EXPECT_EQ(IsSameHost("0:0:0:0:0:0:0:1", "127.0.0.1", absl::Seconds(20)), true);
  EXPECT_EQ(IsSameHost("192.0.2.1", "192.0.2.2", absl::Seconds(20)), false);
}

TEST(SameHost, IsUnknownIfItCannotBeResolvedInTime) {
  const auto never = std::make_shared<std::promise<void>>();
  const std::shared_future<void> end = never->get_future().share();
  const LookUpHost hangs = [end](const std::string&) {
    end.wait();
    return std::vector<std::string>{"10.0.0.1"};
  };
  EXPECT_EQ(IsSameHost("a", "b", absl::Milliseconds(20), hangs), std::nullopt);
  never->set_value();
}

}  // namespace management_url_test
}  // namespace retryq::cli
