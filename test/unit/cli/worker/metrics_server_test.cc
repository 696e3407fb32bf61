#include "cli/worker/metrics_server.h"

#include <event2/event.h>
#include <event2/util.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "retryq/event_loop.h"
#include "retryq/testing/simulated_time.h"
#include "support/test.h"

namespace retryq::cli::metrics_server_test {

using ::testing::EndsWith;

TEST(MetricsAddress, IsAPortOrAnAddressAndAPort) {
  EXPECT_EQ(ParseMetricsAddress("9101")->host, "");
  EXPECT_EQ(ParseMetricsAddress("9101")->port, 9101);
  EXPECT_EQ(ParseMetricsAddress("127.0.0.1:0")->host, "127.0.0.1");
  EXPECT_EQ(ParseMetricsAddress("127.0.0.1:0")->port, 0);
  EXPECT_EQ(ParseMetricsAddress("[::1]:65535")->host, "::1");
  EXPECT_EQ(ParseMetricsAddress("[::1]:65535")->port, 65535);
  for (const char* text : {"", ":", ":9101", "x", "65536", "-1", "+1", " 1", "1 ", "0x10", "[]:1",
                           "::1:9101", "host:", "host:99999999999"}) {
    EXPECT_EQ(ParseMetricsAddress(text).status().code(), absl::StatusCode::kInvalidArgument)
        << text;
  }
}

// A server in simulated time, and its clients: sockets of this thread, which never block.
class MetricsServerTest : public ::testing::Test {
 protected:
  class Peer {
   public:
    Peer(int family, std::uint16_t port) : socket_(::socket(family, SOCK_STREAM, 0)) {
      sockaddr_in6 ipv6 = {};
      ipv6.sin6_family = AF_INET6;
      ipv6.sin6_port = htons(port);
      ipv6.sin6_addr = in6addr_loopback;
      sockaddr_in ipv4 = {};
      ipv4.sin_family = AF_INET;
      ipv4.sin_port = htons(port);
      ipv4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      is_connected =
          (family == AF_INET
               ? ::connect(socket_, reinterpret_cast<sockaddr*>(&ipv4), sizeof(ipv4))
               : ::connect(socket_, reinterpret_cast<sockaddr*>(&ipv6), sizeof(ipv6))) == 0;
      evutil_make_socket_nonblocking(socket_);
    }
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;
    ~Peer() { ::close(socket_); }

    void Send(std::string_view text) const {
      ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
    }
    void SendNoMore() const { ::shutdown(socket_, SHUT_WR); }

    // Returns whether the server has closed the connection, after its reply in `received`.
    bool IsClosed() {
      std::array<char, 4096> buffer;
      ssize_t count = 0;
      while ((count = ::recv(socket_, buffer.data(), buffer.size(), 0)) > 0) {
        received.append(buffer.data(), static_cast<std::size_t>(count));
      }
      return count == 0 || errno != EAGAIN;
    }

    bool is_connected = false;
    std::string received;

   private:
    const int socket_;
  };

  absl::StatusOr<std::unique_ptr<MetricsServer>> Listen(const std::string& address) {
    return MetricsServer::Listen(
        loop_.base(), time_, time_, ParseMetricsAddress(address).value(),
        {.metrics = [this] { return metrics_; },
         .trouble = [this] { return trouble_; },
         .cannot_accept = [this](const std::string& why) { cannot_accept_.push_back(why); },
         .notice = [this] { return notice_; }});
  }

  void TurnLoop(int turns = 50) {
    for (int turn = 0; turn < turns; ++turn) {
      event_base_loop(loop_.base(), EVLOOP_ONCE | EVLOOP_NONBLOCK);
      time_.Advance(absl::ZeroDuration());
    }
  }
  Peer& Connect(int family = AF_INET) {
    Peer& peer = peers_.emplace_back(
        family, static_cast<std::uint16_t>(
                    std::stoi(server_->url().substr(server_->url().rfind(':') + 1))));
    TurnLoop();
    return peer;
  }

  // The reply to a request, of which no more follows.
  std::string Ask(std::string_view request) {
    Peer& peer = Connect();
    peer.Send(request);
    peer.SendNoMore();
    for (int round = 0; round < 100 && !peer.IsClosed(); ++round) TurnLoop();
    EXPECT_TRUE(peer.IsClosed()) << request;
    return peer.received;
  }

  EventLoop loop_;
  retryq::testing::SimulatedTime time_;
  std::string metrics_ = "retryq_connected 1\n";
  std::optional<std::string> trouble_;
  std::optional<std::string> notice_;
  std::vector<std::string> cannot_accept_;
  std::unique_ptr<MetricsServer> server_ = Listen("127.0.0.1:0").value();
  std::deque<Peer> peers_;
};

TEST_F(MetricsServerTest, ServesTheMetrics) {
  EXPECT_THAT(Ask("GET /metrics?name[]=x HTTP/1.1\r\nHost: x\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 200 OK\r\n"),
                    HasSubstr("\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"),
                    EndsWith("\r\n\r\nretryq_connected 1\n")));
  EXPECT_THAT(Ask("HEAD /metrics HTTP/1.1\r\n\r\n"),
              AllOf(HasSubstr("Content-Length: 19\r\n"), EndsWith("\r\n\r\n")));
  metrics_ = std::string(1 << 20, 'x') + "end";
  EXPECT_THAT(Ask("GET /metrics HTTP/1.0\r\n\r\n"), EndsWith("xend"));
}

TEST_F(MetricsServerTest, ReportsTheHealth) {
  const std::string request = "GET /healthz HTTP/1.1\r\n\r\n";
  EXPECT_THAT(Ask(request), AllOf(StartsWith("HTTP/1.1 200 "), EndsWith("\r\n\r\nok\n")));
  notice_ = "the circuit breaker is open";
  EXPECT_THAT(Ask(request), AllOf(StartsWith("HTTP/1.1 200 "),
                                  EndsWith("\r\n\r\nok: the circuit breaker is open\n")));
  trouble_ = "no connection";
  EXPECT_THAT(Ask(request),
              AllOf(StartsWith("HTTP/1.1 503 "), EndsWith("\r\n\r\nno connection\n")));
}

TEST_F(MetricsServerTest, ChecksThePathAndTheMethod) {
  const std::pair<const char*, const char*> requests[] = {
      {"GET http://host/healthz HTTP/1.1\r\n\r\n", "HTTP/1.1 200 "},
      {"GET /healthz?x=/y#z HTTP/1.0\n\n", "HTTP/1.0 200 "},
      {"GET http://host HTTP/1.1\r\n\r\n", "HTTP/1.1 404 "},
      {"GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 404 "},
      {"GET /metrics/.. HTTP/1.1\r\n\r\n", "HTTP/1.1 404 "},
      {"POST /metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 405 "},
      {"BREW /metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 405 "},
      {"GET\r\n\r\n", "HTTP/1.1 400 "},
      {"\r\n\r\n", "HTTP/1.1 400 "},
      {"\x16\x03\x01 \n\n", "HTTP/1.1 400 "}};
  for (const auto& [request, reply] : requests) EXPECT_THAT(Ask(request), StartsWith(reply));
}

TEST_F(MetricsServerTest, ListensOnIpv4AndIpv6UnlessAnAddressIsGiven) {
  server_ = Listen("0").value();
  EXPECT_THAT(server_->url(), StartsWith("http://0.0.0.0:"));
  EXPECT_TRUE(Connect(AF_INET).is_connected);
  const auto ipv6 = Listen("[::1]:0");
  if (!ipv6.ok()) GTEST_SKIP() << "no IPv6 here: " << ipv6.status();
  EXPECT_TRUE(Connect(AF_INET6).is_connected);
}

TEST_F(MetricsServerTest, ReportsWhyItCannotListen) {
  const std::string taken = server_->url().substr(server_->url().find("127"));
  const absl::Status status = Listen(taken).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "cannot listen on " + taken + ": Address already in use");
}

TEST_F(MetricsServerTest, ClosesAConnectionAfterTenSecondsWhateverItSends) {
  Peer& idle = Connect();
  Peer& slow = Connect();
  for (int second = 0; second < 10; ++second) {
    EXPECT_FALSE(idle.IsClosed());
    slow.Send("G");
    TurnLoop();
    time_.Advance(absl::Seconds(1));
  }
  TurnLoop();
  EXPECT_TRUE(idle.IsClosed());
  EXPECT_TRUE(slow.IsClosed());
  EXPECT_EQ(server_->connections(), 0U);
}

TEST_F(MetricsServerTest, RefusesALargeRequest) {
  EXPECT_THAT(Ask("GET /metrics HTTP/1.1\r\nX: " + std::string(MetricsServer::kMostHeadBytes, 'x')),
              StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(Ask("POST /metrics HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n"),
              StartsWith("HTTP/1.1 413 "));
}

TEST_F(MetricsServerTest, ClosesAConnectionThatSendsWithoutEnd) {
  Peer& endless = Connect();
  endless.Send("GET /metrics HTTP/1.1\r\n\r\n");
  for (int part = 0; part < 100; ++part) {
    endless.Send(std::string(4096, 'x'));
    TurnLoop();
  }
  EXPECT_EQ(server_->connections(), 0U);
}

TEST_F(MetricsServerTest, ServesAScraperHoweverManyClientsAreConnected) {
  for (int peer = 0; peer < 150; ++peer) Connect();
  EXPECT_LE(server_->connections(), MetricsServer::kMostConnections);
  EXPECT_THAT(Ask("GET /metrics HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST_F(MetricsServerTest, PausesWhileFileDescriptorsAreUsedUp) {
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  Peer& waiting = peers_.emplace_back(
      AF_INET,
      static_cast<std::uint16_t>(std::stoi(server_->url().substr(server_->url().rfind(':') + 1))));
  const rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
  // Only while the loop runs: UBSan opens a pipe to check the type of an object.
  const auto turn_without_descriptors = [&] {
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    TurnLoop(10);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  };
  for (int second = 0; second < 60; ++second) {
    turn_without_descriptors();
    time_.Advance(absl::Seconds(1));
  }
  EXPECT_THAT(cannot_accept_, ElementsAre(HasSubstr("ulimit -n")));
  turn_without_descriptors();
  EXPECT_EQ(cannot_accept_.size(), 2U);
  time_.Advance(MetricsServer::kPause);
  waiting.Send("GET /healthz HTTP/1.1\r\n\r\n");
  TurnLoop();
  EXPECT_TRUE(waiting.IsClosed());
  EXPECT_THAT(waiting.received, StartsWith("HTTP/1.1 200 "));
}

}  // namespace retryq::cli::metrics_server_test
