#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "retryq/amqp/connection_options.h"
#include "support/test.h"

namespace retryq::amqp::uri_test {

std::string ErrorOf(const std::string& uri) {
  const absl::StatusOr<ConnectionOptions> options = ParseUri(uri);
  EXPECT_TRUE(absl::IsInvalidArgument(options.status())) << uri << ": " << options.status();
  return std::string(options.status().message());
}

TEST(ParseUri, UsesDefaultsForOmittedParts) {
  const auto options = ParseUri("amqp://");
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_THAT(options->endpoints, ElementsAre(Endpoint{.host = "localhost", .port = 5672}));
  EXPECT_EQ(options->user, "guest");
  EXPECT_EQ(options->password, "guest");
  EXPECT_EQ(options->vhost, "/");
  EXPECT_EQ(options->heartbeat, absl::Seconds(15));
}

TEST(ParseUri, ReadsEveryPart) {
  const auto options = ParseUri(
      "amqp://me:pass@rabbit.example:5673/shop?heartbeat=30&connection_timeout=2500&"
      "channel_max=100&frame_max=8192");
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_THAT(options->endpoints, ElementsAre(Endpoint{.host = "rabbit.example", .port = 5673}));
  EXPECT_EQ(options->user, "me");
  EXPECT_EQ(options->password, "pass");
  EXPECT_EQ(options->vhost, "shop");
  EXPECT_EQ(options->heartbeat, absl::Seconds(30));
  EXPECT_EQ(options->connection_timeout, absl::Milliseconds(2500));
  EXPECT_EQ(options->channel_max, 100);
  EXPECT_EQ(options->frame_max, 8192U);
}

TEST(ParseUri, DecodesPercentSigns) {
  const auto options = ParseUri("amqp://us%65r:p%40ss%2F%3a@h%6fst/%2fv%2F");
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->user, "user");
  EXPECT_EQ(options->password, "p@ss/:");
  EXPECT_EQ(options->endpoints[0].host, "host");
  EXPECT_EQ(options->vhost, "/v/");
  EXPECT_EQ(ParseUri("amqp://host?heartbeat=%33%30")->heartbeat, absl::Seconds(30));
}

TEST(ParseUri, AcceptsTheSchemeInAnyCase) {
  EXPECT_EQ(ParseUri("AMQP://Host")->endpoints[0].host, "Host");
}

TEST(ParseUri, ReadsZeroAsUnlimited) {
  EXPECT_EQ(ParseUri("amqp://host?frame_max=0")->frame_max, 0U);
  EXPECT_EQ(ParseUri("amqp://host?channel_max=0")->channel_max, 0);
}

TEST(ParseUri, ReadsNoPathASlashAndItsCodeAsTheDefaultVhost) {
  for (const char* uri : {"amqp://host", "amqp://host/", "amqp://host/%2f", "amqp://host/%2F?"}) {
    const auto options = ParseUri(uri);
    ASSERT_TRUE(options.ok()) << uri << ": " << options.status();
    EXPECT_EQ(options->vhost, "/") << uri;
  }
}

TEST(ParseUri, AcceptsAnEmptyPasswordAndUsesTheDefaultForAMissingOne) {
  EXPECT_EQ(ParseUri("amqp://me:@host")->password, "");
  EXPECT_EQ(ParseUri("amqp://me@host")->password, "guest");
}

TEST(ParseUri, ReadsIpv6AddressesInBrackets) {
  EXPECT_THAT(ParseUri("amqp://[::1]")->endpoints, ElementsAre(Endpoint{.host = "::1"}));
  EXPECT_THAT(ParseUri("amqp://u:p@[2001:db8::2]:5673/v")->endpoints,
              ElementsAre(Endpoint{.host = "2001:db8::2", .port = 5673}));
  EXPECT_THAT(ParseUri("amqp://[fe80::1%25eth0]")->endpoints,
              ElementsAre(Endpoint{.host = "fe80::1%eth0"}));
  EXPECT_THAT(ErrorOf("amqp://::1:5672"), HasSubstr("brackets"));
  EXPECT_THAT(ErrorOf("amqp://[::1"), HasSubstr("]"));
  EXPECT_THAT(ErrorOf("amqp://[::1]5672"), HasSubstr("port"));
  EXPECT_THAT(ErrorOf("amqp://[]"), HasSubstr("address"));
}

TEST(ParseUri, NamesThePartThatIsWrong) {
  EXPECT_THAT(ErrorOf(""), HasSubstr("amqp://"));
  EXPECT_THAT(ErrorOf("http://host"), HasSubstr("amqp://"));
  EXPECT_THAT(ErrorOf("amqp://host:0"), HasSubstr("port"));
  EXPECT_THAT(ErrorOf("amqp://host:65536"), HasSubstr("port"));
  EXPECT_THAT(ErrorOf("amqp://host:56x"), HasSubstr("port"));
  EXPECT_THAT(ErrorOf("amqp://us%4er%:p@host"), HasSubstr("user"));
  EXPECT_THAT(ErrorOf("amqp://u:p@ho%zzst"), HasSubstr("host"));
  EXPECT_THAT(ErrorOf("amqp://host/v%"), HasSubstr("vhost"));
  EXPECT_THAT(ErrorOf("amqp://host/a/b"), HasSubstr("%2f"));
  EXPECT_THAT(ErrorOf("amqp://host/" + std::string(256, 'v')), HasSubstr("vhost"));
  EXPECT_THAT(ErrorOf("amqp://host/%ff"), HasSubstr("vhost '\\xFF' is not UTF-8"));
  EXPECT_THAT(ErrorOf("amqp://host?heartbeat=x"), HasSubstr("heartbeat"));
  EXPECT_THAT(ErrorOf("amqp://host?heartbeat=-1"), HasSubstr("heartbeat"));
  EXPECT_THAT(ErrorOf("amqp://host?heartbeat"), HasSubstr("heartbeat"));
  EXPECT_THAT(ErrorOf("amqp://host?connection_timeout=0"), HasSubstr("connection_timeout"));
  EXPECT_THAT(ErrorOf("amqp://host?channel_max=70000"), HasSubstr("channel_max"));
  EXPECT_THAT(ErrorOf("amqp://host?channel_max=1&channel_max=2"), HasSubstr("'channel_max'"));
  EXPECT_THAT(ErrorOf("amqp://host?heartbeat=%3"), HasSubstr("heartbeat"));
  EXPECT_THAT(ErrorOf("amqp://host?frame_max=4096"), HasSubstr("frame_max"));
  EXPECT_THAT(ErrorOf("amqp://host?color=red"), HasSubstr("'color'"));
}

// A blank, a control character or NUL at any place of any part, as it is or percent-encoded.
TEST(ParseUri, RefusesControlCharactersInEveryPart) {
  for (const int code : {0, 1, 9, 10, 13, 31, 32, 127}) {
    const std::string raw(1, static_cast<char>(code));
    const std::string encoded = absl::StrFormat("%%%02x", code);
    for (const char* part :
         {"user", "password", "host", "vhost", "cacertfile", "server_name_indication"}) {
      const std::string shape =
          "amqps://(user)x:(password)x@(host)x/(vhost)x?cacertfile=(cacertfile)x&"
          "server_name_indication=(server_name_indication)x";
      const auto with = [&](const std::string& text) {
        std::string uri = absl::StrReplaceAll(shape, {{absl::StrCat("(", part, ")"), text}});
        for (const char* other : {"(user)", "(password)", "(host)", "(vhost)", "(cacertfile)",
                                  "(server_name_indication)"}) {
          uri = absl::StrReplaceAll(uri, {{other, ""}});
        }
        return uri;
      };
      EXPECT_THAT(ErrorOf(with("a" + raw)), HasSubstr(part)) << code;
      // What a vhost is called is the broker's business, and so is a blank in a password.
      const std::string name = part;
      const bool may_be_meant =
          name == "vhost" || (name == "user" && code == ' ') ||
          (name != "user" && name != "host" && name != "server_name_indication" && code != 0);
      EXPECT_EQ(ParseUri(with("a" + encoded)).ok(), may_be_meant) << part << " " << code;
    }
  }
}

TEST(ParseUri, RefusesInvalidHosts) {
  for (const char* host : {"a,b", "a%2fb", "a%40b", "a%3ab", ".example", "a..b", "."}) {
    EXPECT_THAT(ErrorOf(std::string("amqp://") + host), HasSubstr("host")) << host;
  }
  EXPECT_THAT(ErrorOf("amqp://" + std::string(256, 'h')), HasSubstr("255"));
  EXPECT_THAT(ErrorOf("amqp://[rabbit]"), HasSubstr("IPv6"));
  EXPECT_THAT(ErrorOf("amqp://[::1%00]"), HasSubstr("IPv6"));
}

TEST(ParseUri, KeepsTheDotAtTheEndOfAHost) {
  EXPECT_EQ(ParseUri("amqp://rabbit.example.")->endpoints[0].host, "rabbit.example.");
}

TEST(ParseUri, ReadsInitialFrameMax) {
  EXPECT_EQ(ParseUri("amqp://host?initial_frame_max=16384")->initial_frame_max, 16384U);
  EXPECT_THAT(ErrorOf("amqp://host?initial_frame_max=4095"), HasSubstr("initial_frame_max"));
}

TEST(ParseUri, ReadsEveryParameterOfTls) {
  const auto options = ParseUri(
      "amqps://host?cacertfile=/etc/ca%20files/ca.pem&certfile=client.pem&keyfile=client.key&"
      "verify=verify_none&server_name_indication=rabbit.example&auth_mechanism=external");
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->tls, (TlsOptions{.ca_file = "/etc/ca files/ca.pem",
                                      .cert_file = "client.pem",
                                      .key_file = "client.key",
                                      .verify_peer = false,
                                      .server_name = "rabbit.example"}));
  EXPECT_EQ(options->auth_mechanism, AuthMechanism::kExternal);
}

TEST(ParseUri, NamesThePartOfTlsThatIsWrong) {
  EXPECT_THAT(ErrorOf("amqps://host?verify=yes"), HasSubstr("verify_peer or verify_none"));
  EXPECT_THAT(ErrorOf("amqps://host?auth_mechanism=crdemo"), HasSubstr("plain or external"));
  EXPECT_THAT(ErrorOf("amqps://host?cacertfile="), HasSubstr("cacertfile"));
  EXPECT_THAT(ErrorOf("amqps://host?certfile"), HasSubstr("certfile"));
  EXPECT_THAT(ErrorOf("amqps://host?keyfile="), HasSubstr("keyfile"));
  EXPECT_THAT(ErrorOf("amqps://host?server_name_indication=disable"), HasSubstr("verify_none"));
}

TEST(ParseUri, RefusesParametersOfTlsWithoutTls) {
  for (const char* parameter : {"cacertfile=a", "certfile=a", "keyfile=a", "verify=verify_none",
                                "server_name_indication=a"}) {
    EXPECT_THAT(ErrorOf(std::string("amqp://host?") + parameter), HasSubstr("needs amqps://"));
  }
}

TEST(ParseUri, NeverShowsThePassword) {
  for (const char* uri :
       {"amqp://me:Sesame%zz@host", "amqp://me:12?Sesame@host", "amqp://me:12/Sesame@host",
        "amqp://me:Sesame/12@host/v", "amqp://me:Sesame@host:x", "amqp://me:Sesame@host?x=Sesame@",
        "amqp://me:1?heartbeat=Sesame@host"}) {
    EXPECT_THAT(ErrorOf(uri), Not(HasSubstr("Sesame"))) << uri;
  }
}

TEST(ParseUri, NeverReadsAPartOfAPasswordAsAHost) {
  for (const char* uri :
       {"amqp://me:Ses/ame@host", "amqp://me:Ses@a/me@host/v", "amqp://me:Ses@a/me@host",
        "amqp://me:S@e?same@host", "amqp://me:S@e#s/ame@host/v?heartbeat=1", "amqp://me:12/@host",
        "amqp://host/v@w", "amqp://host?heartbeat=1/@x"}) {
    EXPECT_THAT(ErrorOf(uri),
                AllOf(HasSubstr("must be percent-encoded (%2f, %3f, %40)"), Not(HasSubstr("me"))))
        << uri;
  }
  const auto options = ParseUri("amqp://me:Ses@ame#:@host/v");
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->password, "Ses@ame#:");
  EXPECT_EQ(options->endpoints[0].host, "host");
}

TEST(ParseUris, JoinsTheEndpointsOfOneCluster) {
  const auto options = ParseUris({"amqp://u:p@a/v", "amqp://u:p@b:5673/v"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_THAT(options->endpoints,
              ElementsAre(Endpoint{.host = "a"}, Endpoint{.host = "b", .port = 5673}));
}

TEST(ParseUris, RefusesUrisThatDifferInOtherParts) {
  const auto options = ParseUris({"amqp://u:Sesame@a/v", "amqp://u:Alibaba@b/v"});
  EXPECT_TRUE(absl::IsInvalidArgument(options.status()));
  EXPECT_THAT(std::string(options.status().message()), HasSubstr("number 2"));
  EXPECT_THAT(std::string(options.status().message()), Not(HasSubstr("Sesame")));
  EXPECT_THAT(std::string(options.status().message()), Not(HasSubstr("Alibaba")));
  EXPECT_FALSE(ParseUris({"amqp://u:p@a/v", "amqp://u:p@b/w"}).ok());
  EXPECT_FALSE(ParseUris({"amqp://u:p@a", "amqp://u:p@b?heartbeat=1"}).ok());
  EXPECT_FALSE(ParseUris({"amqp://u:p@a", "amqps://u:p@b"}).ok());
  EXPECT_FALSE(ParseUris({"amqps://u:p@a", "amqps://u:p@b?verify=verify_none"}).ok());
  EXPECT_FALSE(ParseUris({"amqp://u:p@a", "nonsense"}).ok());
  EXPECT_FALSE(ParseUris({}).ok());
}

}  // namespace retryq::amqp::uri_test
