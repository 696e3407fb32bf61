#ifndef RETRYQ_CLI_WORKER_METRICS_SERVER_H_
#define RETRYQ_CLI_WORKER_METRICS_SERVER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "retryq/broker/clock.h"
#include "retryq/broker/timers.h"

struct bufferevent;
struct event_base;
struct evconnlistener;
struct evhttp;
struct evhttp_request;

namespace retryq::cli {

// The address on which `--metrics` listens.
struct MetricsAddress {
  std::string host;        // a name or an address, IPv6 without brackets; empty: all addresses
  std::uint16_t port = 0;  // 0: any free port
};

// Parses "9101", "127.0.0.1:9101" or "[::1]:9101". Returns kInvalidArgument with the remedy.
absl::StatusOr<MetricsAddress> ParseMetricsAddress(const std::string& text);

// An HTTP server on the loop. GET /metrics returns the metrics. GET /healthz returns 200 with "ok"
// or "ok: " and a notice, or 503 and the reason why the process does not work right now.
//
// A connection serves one request and ends after kLongest at the latest. A new connection above
// kMostConnections closes the oldest one, so peers that only connect can neither block a scraper
// nor use up the file descriptors of the process. If no connection can be accepted, the server
// pauses for kPause. Destroy it before the loop.
class MetricsServer {
 public:
  static constexpr std::size_t kMostConnections = 16;
  static constexpr std::size_t kMostHeadBytes = 8192;
  static constexpr unsigned kMostInATurn = 16;
  static constexpr absl::Duration kLongest = absl::Seconds(10);
  static constexpr absl::Duration kPause = absl::Seconds(1);
  static constexpr absl::Duration kReportEvery = absl::Minutes(1);

  struct Pages {
    std::function<std::string()> metrics;                 // in Prometheus' text format
    std::function<std::optional<std::string>()> trouble;  // why the process does not work
    // Receives the reason why no connection can be accepted, at most once every kReportEvery.
    std::function<void(const std::string& why)> cannot_accept;
    std::function<std::optional<std::string>()> notice;  // about a process that works
  };

  // Returns kInvalidArgument with the reason if it cannot listen. `base`, `timers` and `clock` must
  // outlive the server.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Listen(event_base* base, Timers& timers,
                                                               const Clock& clock,
                                                               const MetricsAddress& address,
                                                               Pages pages);
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  // "http://0.0.0.0:9101"
  const std::string& url() const { return url_; }

  // The number of open connections.
  std::size_t connections() const { return connections_.size(); }

 private:
  struct Connection {
    // Closes the socket in both directions, so that evhttp frees its connection.
    void Shutdown() const;

    // A reference, so that the socket stays open until this is destroyed.
    std::unique_ptr<bufferevent, void (*)(bufferevent*)> stream;
    std::unique_ptr<Timer> deadline;
  };
  struct Reply {
    int status = 200;
    const char* reason = "OK";
    const char* type = "text/plain; charset=utf-8";
    std::string body;
  };

  MetricsServer(event_base* base, Timers& timers, const Clock& clock, Pages pages);

  bufferevent* OnAccepted();
  void OnAcceptError(int error);
  void StopAccepting(absl::Duration pause);
  void OnRequest(evhttp_request* request);
  Reply PageOf(std::string_view path) const;

  event_base* const base_;
  Timers& timers_;
  const Clock& clock_;
  const Pages pages_;
  std::string url_;
  std::list<Connection> connections_;  // oldest first
  const std::unique_ptr<evhttp, void (*)(evhttp*)> http_;
  evconnlistener* listener_ = nullptr;  // belongs to http_
  unsigned accepted_ = 0;
  std::unique_ptr<Timer> pause_;
  absl::Duration report_from_ = -absl::InfiniteDuration();  // since boot
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_METRICS_SERVER_H_
