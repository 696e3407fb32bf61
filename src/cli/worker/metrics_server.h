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
#include <utility>

#include "absl/status/statusor.h"
#include "cli/worker/acceptor.h"
#include "cli/worker/metrics_connection.h"
#include "retryq/clock.h"
#include "retryq/event_loop.h"
#include "retryq/timers.h"

struct event_base;

namespace retryq::cli {

// The address on which `--metrics` listens.
struct MetricsAddress {
  std::string host;        // a name or an address, IPv6 without brackets; empty: all addresses
  std::uint16_t port = 0;  // 0: any free port
};

// Parses "9101", "127.0.0.1:9101" or "[::1]:9101". Returns kInvalidArgument with the remedy.
absl::StatusOr<MetricsAddress> ParseMetricsAddress(const std::string& text);

// An HTTP server on the loop, for a scraper and an orchestrator. GET /metrics returns the metrics.
// GET /healthz returns 200 with "ok" or "ok: " and a notice, or 503 and the reason why the process
// does not work right now. A connection serves one request and lasts ten seconds at most
// (MetricsConnection). At most kMostConnections are open: a new connection closes the oldest one.
// So peers that only connect can neither block a scraper nor use up the file descriptors of the
// process. Used on the loop's thread; destroy it before the loop.
class MetricsServer {
 public:
  static constexpr std::size_t kMostConnections = 16;

  struct Pages {
    // The metrics, in Prometheus' text format.
    std::function<std::string()> metrics;
    // Returns why the process does not work; nullopt if it does.
    std::function<std::optional<std::string>()> trouble;
    // Receives the reason why no connection can be accepted, at most once a minute. May be null.
    std::function<void(const std::string& why)> cannot_accept = nullptr;
    // Returns a notice for a process that works; nullopt: no notice. May be null.
    std::function<std::optional<std::string>()> notice = nullptr;
  };

  // Returns kInvalidArgument with the address and the reason if it cannot listen.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Listen(EventLoop& loop,
                                                               const MetricsAddress& address,
                                                               Pages pages);
  // Does so with the given timers and clock.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Listen(event_base* base, Timers& timers,
                                                               const Clock& clock,
                                                               const MetricsAddress& address,
                                                               Pages pages);
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  // "http://0.0.0.0:9101"
  const std::string& url() const { return url_; }

  // The number of open connections.
  std::size_t connections() const { return connections_.size(); }

 private:
  MetricsServer(event_base* base, Timers& timers, Pages pages)
      : base_(base), timers_(timers), pages_(std::move(pages)) {}

  void OnAccepted(int socket);
  MetricsConnection::Reply PageOf(std::string_view path) const;

  event_base* const base_;
  Timers& timers_;
  const Pages pages_;
  std::string url_;
  std::list<std::unique_ptr<MetricsConnection>> connections_;  // oldest first
  std::unique_ptr<Acceptor> acceptor_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_METRICS_SERVER_H_
