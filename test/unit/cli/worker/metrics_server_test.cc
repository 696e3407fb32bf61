#include "cli/worker/metrics_server.h"

#include <event2/buffer.h>
#include <event2/http.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

namespace retryq::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(MetricsAddress, IsAPortOrAnAddressAndAPort) {
  EXPECT_EQ(ParseMetricsAddress("9101")->host, "0.0.0.0");
  EXPECT_EQ(ParseMetricsAddress("9101")->port, 9101);
  EXPECT_EQ(ParseMetricsAddress("127.0.0.1:0")->host, "127.0.0.1");
  EXPECT_EQ(ParseMetricsAddress("127.0.0.1:0")->port, 0);
  EXPECT_EQ(ParseMetricsAddress("[::1]:65535")->host, "::1");
  EXPECT_EQ(ParseMetricsAddress("[::1]:65535")->port, 65535);
}

TEST(MetricsAddress, IsNothingElse) {
  for (const char* text : {"", ":", ":9101", "x", "65536", "-1", "+1", " 1", "1 ", "0x10", "[]:1",
                           "::1:9101", "host:", "host:99999999999"}) {
    EXPECT_EQ(ParseMetricsAddress(text).status().code(), absl::StatusCode::kInvalidArgument)
        << text;
  }
}

class MetricsServerTest : public ::testing::Test {
 protected:
  struct Answer {
    int status = 0;
    std::string type;
    std::string body;
  };

  absl::StatusOr<std::unique_ptr<MetricsServer>> Listen(const std::string& address) {
    return MetricsServer::Listen(loop_, ParseMetricsAddress(address).value(),
                                 {.metrics = [] { return std::string("retryq_connected 1\n"); },
                                  .trouble = [this] { return trouble_; }});
  }

  static std::uint16_t PortOf(const MetricsServer& server) {
    return static_cast<std::uint16_t>(std::stoi(server.url().substr(server.url().rfind(':') + 1)));
  }

  // Asks it on the same loop.
  Answer Ask(const MetricsServer& server, const std::string& path,
             evhttp_cmd_type method = EVHTTP_REQ_GET) {
    const std::unique_ptr<evhttp_connection, void (*)(evhttp_connection*)> connection(
        evhttp_connection_base_new(loop_.base(), nullptr, "127.0.0.1", PortOf(server)),
        evhttp_connection_free);
    struct Call {
      EventLoop& loop;
      Answer answer;
    } call{loop_, {}};
    evhttp_request* const request = evhttp_request_new(
        [](evhttp_request* reply, void* argument) {
          auto& [loop, answer] = *static_cast<Call*>(argument);
          loop.Stop();
          if (reply == nullptr) return;
          answer.status = evhttp_request_get_response_code(reply);
          const char* const type =
              evhttp_find_header(evhttp_request_get_input_headers(reply), "Content-Type");
          answer.type = type == nullptr ? "" : type;
          evbuffer* const body = evhttp_request_get_input_buffer(reply);
          answer.body.resize(evbuffer_get_length(body));
          evbuffer_remove(body, answer.body.data(), answer.body.size());
        },
        &call);
    evhttp_make_request(connection.get(), request, method, path.c_str());
    const std::unique_ptr<Timer> patience =
        loop_.After(absl::Seconds(30), [this] { loop_.Stop(); });
    EXPECT_TRUE(loop_.Run().ok());
    return call.answer;
  }

  EventLoop loop_;
  std::optional<std::string> trouble_;
};

TEST_F(MetricsServerTest, ServesTheMetrics) {
  const auto server = Listen("127.0.0.1:0");
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_THAT((*server)->url(), StartsWith("http://127.0.0.1:"));
  for (const char* path : {"/metrics", "/metrics?name[]=x"}) {
    const Answer answer = Ask(**server, path);
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.type, "text/plain; version=0.0.4; charset=utf-8");
    EXPECT_EQ(answer.body, "retryq_connected 1\n");
  }
}

TEST_F(MetricsServerTest, SaysWhetherAllIsWell) {
  const auto server = Listen("127.0.0.1:0");
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ(Ask(**server, "/healthz").status, 200);
  EXPECT_EQ(Ask(**server, "/healthz").body, "ok\n");
  trouble_ = "no connection";
  EXPECT_EQ(Ask(**server, "/healthz").status, 503);
  EXPECT_EQ(Ask(**server, "/healthz").body, "no connection\n");
}

TEST_F(MetricsServerTest, ServesNothingElse) {
  const auto server = Listen("127.0.0.1:0");
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ(Ask(**server, "/").status, 404);
  EXPECT_EQ(Ask(**server, "/metrics/..").status, 404);
  EXPECT_GE(Ask(**server, "/metrics", EVHTTP_REQ_POST).status, 400);
}

TEST_F(MetricsServerTest, SaysWhereItCannotListen) {
  const auto first = Listen("127.0.0.1:0");
  ASSERT_TRUE(first.ok()) << first.status();
  const std::string taken = "127.0.0.1:" + std::to_string(PortOf(**first));
  const absl::Status status = Listen(taken).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(taken));
}

}  // namespace
}  // namespace retryq::cli
