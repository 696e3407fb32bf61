#ifndef RETRYQ_CLI_WORKER_METRICS_CONNECTION_H_
#define RETRYQ_CLI_WORKER_METRICS_CONNECTION_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "retryq/timers.h"

struct bufferevent;
struct event_base;

namespace retryq::cli {

// One connection of an HTTP server: it reads the head of one request, writes the response and
// closes. It ends after at most kLongest, whatever the peer does, and keeps at most kMostHeadBytes
// of a request.
class MetricsConnection {
 public:
  static constexpr absl::Duration kLongest = absl::Seconds(10);
  static constexpr std::size_t kMostHeadBytes = 8192;

  struct Reply {
    int status = 200;
    std::string_view type;  // Content-Type; must be a constant
    std::string body;
  };
  // Returns the page at a path.
  using Page = std::function<Reply(std::string_view path)>;

  // Owns the socket, which must be non-blocking. `ended` is called once and may destroy this
  // object.
  MetricsConnection(event_base* base, Timers& timers, int socket, Page page,
                    std::function<void()> ended);
  MetricsConnection(const MetricsConnection&) = delete;
  MetricsConnection& operator=(const MetricsConnection&) = delete;

 private:
  void OnReadable();
  void OnWritten();
  void OnEvent(short what);
  Reply ReplyTo(std::string_view request_line) const;
  void Write(const Reply& reply, bool with_body);
  void End();

  const Page page_;
  std::function<void()> ended_;
  const std::unique_ptr<bufferevent, void (*)(bufferevent*)> stream_;
  bool answered_ = false;
  std::size_t discarded_ = 0;  // bytes after the request
  bool peer_is_done_ = false;  // the peer has closed its side
  std::unique_ptr<Timer> deadline_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_METRICS_CONNECTION_H_
