#include "cli/worker/metrics_server.h"

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/util.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "retryq/testing/simulated_time.h"

namespace retryq::cli {
namespace metrics_server_test {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(MetricsAddress, IsAPortOrAnAddressAndAPort) {
  EXPECT_EQ(ParseMetricsAddress("9101")->host, "");
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
                                  .trouble = [this] { return trouble_; },
                                  .notice = [this] { return notice_; }});
  }

  static std::uint16_t PortOf(const MetricsServer& server) {
    return static_cast<std::uint16_t>(std::stoi(server.url().substr(server.url().rfind(':') + 1)));
  }

  // Asks it on the same loop.
  Answer Ask(const MetricsServer& server, const std::string& path,
             evhttp_cmd_type method = EVHTTP_REQ_GET, const char* host = "127.0.0.1") {
    const std::unique_ptr<evhttp_connection, void (*)(evhttp_connection*)> connection(
        evhttp_connection_base_new(loop_.base(), nullptr, host, PortOf(server)),
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
  std::optional<std::string> notice_;
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

TEST_F(MetricsServerTest, ListensOnIpv4AndIpv6UnlessToldOtherwise) {
  const auto all = Listen("0");
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_THAT((*all)->url(), StartsWith("http://0.0.0.0:"));
  EXPECT_EQ(Ask(**all, "/healthz").status, 200);
  const auto ipv6 = Listen("[::1]:0");
  if (!ipv6.ok()) GTEST_SKIP() << "no IPv6 here: " << ipv6.status();
  EXPECT_EQ(Ask(**all, "/healthz", EVHTTP_REQ_GET, "::1").status, 200);
}

TEST_F(MetricsServerTest, SaysWhetherAllIsWell) {
  const auto server = Listen("127.0.0.1:0");
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ(Ask(**server, "/healthz").status, 200);
  EXPECT_EQ(Ask(**server, "/healthz").body, "ok\n");
  notice_ = "the circuit breaker is open";
  EXPECT_EQ(Ask(**server, "/healthz").status, 200);
  EXPECT_EQ(Ask(**server, "/healthz").body, "ok: the circuit breaker is open\n");
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

// A server in simulated time, and its peers: sockets of this thread, which never block.
class MetricsServerPeers : public ::testing::Test {
 protected:
  class Peer {
   public:
    explicit Peer(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
      sockaddr_in address = {};
      address.sin_family = AF_INET;
      address.sin_port = htons(port);
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
      evutil_make_socket_nonblocking(socket_);
    }
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;
    ~Peer() { ::close(socket_); }

    bool Send(std::string_view text) const {
      return ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL) >= 0;
    }
    // Whether the server has closed the connection, behind what it sent, which `received` has.
    bool IsClosed() {
      std::array<char, 4096> buffer;
      ssize_t count = 0;
      while ((count = ::recv(socket_, buffer.data(), buffer.size(), 0)) > 0) {
        received.append(buffer.data(), static_cast<std::size_t>(count));
      }
      return count == 0 || errno != EAGAIN;
    }

    std::string received;

   private:
    const int socket_;
  };

  void TurnLoop() {
    for (int turn = 0; turn < 50; ++turn)
      event_base_loop(loop_.base(), EVLOOP_ONCE | EVLOOP_NONBLOCK);
  }
  Peer& Connect() {
    Peer& peer = peers_.emplace_back(static_cast<std::uint16_t>(
        std::stoi(server_->url().substr(server_->url().rfind(':') + 1))));
    TurnLoop();
    return peer;
  }

  EventLoop loop_;
  retryq::testing::SimulatedTime time_;
  const std::unique_ptr<MetricsServer> server_ =
      MetricsServer::Listen(loop_.base(), time_, time_, ParseMetricsAddress("127.0.0.1:0").value(),
                            {.metrics = [] { return std::string("retryq_connected 1\n"); },
                             .trouble = [] { return std::nullopt; }})
          .value();
  std::deque<Peer> peers_;
};

TEST_F(MetricsServerPeers, AreEndedWhenTheyOnlyConnect) {
  Peer& idle = Connect();
  time_.Advance(MetricsConnection::kLongest - absl::Seconds(1));
  EXPECT_FALSE(idle.IsClosed());
  time_.Advance(absl::Seconds(1));
  TurnLoop();
  EXPECT_TRUE(idle.IsClosed());
  EXPECT_EQ(server_->connections(), 0U);
}

TEST_F(MetricsServerPeers, AreEndedWhenTheirRequestTrickles) {
  Peer& slow = Connect();
  for (int second = 0; second < 10; ++second) {
    slow.Send("G");
    TurnLoop();
    time_.Advance(absl::Seconds(1));
  }
  TurnLoop();
  EXPECT_TRUE(slow.IsClosed());
}

TEST_F(MetricsServerPeers, AreRefusedALargeRequest) {
  Peer& large = Connect();
  large.Send("GET /metrics HTTP/1.1\r\nX: " + std::string(MetricsConnection::kMostHeadBytes, 'x'));
  TurnLoop();
  EXPECT_TRUE(large.IsClosed());
  EXPECT_THAT(large.received, StartsWith("HTTP/1.1 431 "));
}

TEST_F(MetricsServerPeers, AreEndedWhenTheySendWithoutEnd) {
  Peer& endless = Connect();
  endless.Send("GET /metrics HTTP/1.1\r\n\r\n");
  for (int part = 0; part < 100; ++part) {
    endless.Send(std::string(4096, 'x'));
    TurnLoop();
  }
  EXPECT_EQ(server_->connections(), 0U);
}

TEST_F(MetricsServerPeers, NeverKeepAScraperOut) {
  for (int peer = 0; peer < 150; ++peer) Connect();
  EXPECT_LE(server_->connections(), MetricsServer::kMostConnections);
  Peer& scraper = Connect();
  scraper.Send("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
  TurnLoop();
  EXPECT_TRUE(scraper.IsClosed());
  EXPECT_THAT(scraper.received, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(scraper.received, HasSubstr("\r\n\r\nretryq_connected 1\n"));
}

TEST_F(MetricsServerPeers, AreAnsweredByTheirPath) {
  const std::pair<const char*, const char*> requests[] = {
      {"GET http://host/healthz HTTP/1.1\r\n\r\n", "HTTP/1.1 200 "},
      {"GET /healthz?x=/y#z HTTP/1.0\n\n", "HTTP/1.1 200 "},
      {"GET http://host HTTP/1.1\r\n\r\n", "HTTP/1.1 404 "},
      {"GET  HTTP/1.1\r\n\r\n", "HTTP/1.1 404 "},
      {"POST /metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 405 "},
      {"GET\r\n\r\n", "HTTP/1.1 400 "},
      {"\r\n\r\n", "HTTP/1.1 400 "},
      {"\x16\x03\x01 \n\n", "HTTP/1.1 400 "}};
  for (const auto& [request, answer] : requests) {
    Peer& peer = Connect();
    peer.Send(request);
    TurnLoop();
    EXPECT_TRUE(peer.IsClosed()) << request;
    EXPECT_THAT(peer.received, StartsWith(answer)) << request;
  }
}

TEST_F(MetricsServerPeers, GetNoBodyByHead) {
  Peer& peer = Connect();
  peer.Send("HEAD /metrics HTTP/1.1\r\n\r\n");
  TurnLoop();
  EXPECT_TRUE(peer.IsClosed());
  EXPECT_THAT(peer.received, HasSubstr("Content-Length: 19\r\n"));
  EXPECT_THAT(peer.received, ::testing::EndsWith("\r\n\r\n"));
}

TEST_F(MetricsServerTest, SaysWhereItCannotListen) {
  const auto first = Listen("127.0.0.1:0");
  ASSERT_TRUE(first.ok()) << first.status();
  const std::string taken = "127.0.0.1:" + std::to_string(PortOf(**first));
  const absl::Status status = Listen(taken).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(taken));
}

}  // namespace metrics_server_test
}  // namespace retryq::cli
