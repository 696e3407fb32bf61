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

// Where `--metrics` listens.
struct MetricsAddress {
  std::string host;        // a name or an address, IPv6 without brackets; empty: all addresses
  std::uint16_t port = 0;  // 0: any that is free
};

// "9101", "127.0.0.1:9101", "[::1]:9101". kInvalidArgument says what is wrong.
absl::StatusOr<MetricsAddress> ParseMetricsAddress(const std::string& text);

// An HTTP server on the loop, for a scraper and for an orchestrator: GET /metrics
// answers with the metrics, GET /healthz with 200 "ok" or "ok: " and what is worth knowing, or with
// 503 and why the process is of no use right now. A connection is for one request, and for ten
// seconds at most (MetricsConnection). There are never more than kMostConnections: the oldest makes
// room for the next, so that peers which only connect can neither keep a scraper out nor use up the
// process's file descriptors. Used on the loop's thread; destroy it before the loop.
class MetricsServer {
 public:
  static constexpr std::size_t kMostConnections = 16;

  struct Pages {
    // The metrics, in Prometheus' text format.
    std::function<std::string()> metrics;
    // Why it is not well; nothing if it is.
    std::function<std::optional<std::string>()> trouble;
    // Hears at most once a minute why no connection can be accepted. Null: nobody does.
    std::function<void(const std::string& why)> cannot_accept = nullptr;
    // What is worth knowing although it is well; nothing if there is nothing. Null: the same.
    std::function<std::optional<std::string>()> notice = nullptr;
  };

  // kInvalidArgument names the address and says why nothing can listen there.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Listen(EventLoop& loop,
                                                               const MetricsAddress& address,
                                                               Pages pages);
  // The same in the time of `timers` and `clock`.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Listen(event_base* base, Timers& timers,
                                                               const Clock& clock,
                                                               const MetricsAddress& address,
                                                               Pages pages);
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  // "http://0.0.0.0:9101"
  const std::string& url() const { return url_; }

  // Connections that are open.
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
  std::list<std::unique_ptr<MetricsConnection>> connections_;  // the oldest first
  std::unique_ptr<Acceptor> acceptor_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_METRICS_SERVER_H_
