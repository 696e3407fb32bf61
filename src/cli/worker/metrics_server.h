#ifndef RETRYQ_CLI_WORKER_METRICS_SERVER_H_
#define RETRYQ_CLI_WORKER_METRICS_SERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "retryq/event_loop.h"

struct evhttp;
struct evhttp_request;

namespace retryq::cli {

// Where `--metrics` listens.
struct MetricsAddress {
  std::string host = "0.0.0.0";  // a name or an address, IPv6 without brackets
  std::uint16_t port = 0;        // 0: any that is free
};

// "9101", "127.0.0.1:9101", "[::1]:9101". kInvalidArgument says what is wrong.
absl::StatusOr<MetricsAddress> ParseMetricsAddress(const std::string& text);

// An HTTP server on the loop, by libevent's own, for a scraper and for whoever looks after the
// process: GET /metrics answers with the metrics, GET /healthz with 200 "ok", or with 503 and why
// the process is of no use right now. Used on the loop's thread; destroy it before the loop.
class MetricsServer {
 public:
  struct Pages {
    // The metrics, in Prometheus' text format.
    std::function<std::string()> metrics;
    // Why it is not well; nothing if it is.
    std::function<std::optional<std::string>()> trouble;
  };

  // kInvalidArgument names the address and says why nothing can listen there.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Listen(EventLoop& loop,
                                                               const MetricsAddress& address,
                                                               Pages pages);
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  // "http://0.0.0.0:9101"
  const std::string& url() const { return url_; }

 private:
  MetricsServer(EventLoop& loop, Pages pages);

  static void Answer(evhttp_request* request, void* server);
  void Answer(evhttp_request* request) const;

  const Pages pages_;
  const std::unique_ptr<evhttp, void (*)(evhttp*)> http_;
  std::string url_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_METRICS_SERVER_H_
