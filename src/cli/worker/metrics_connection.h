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

// One connection of an HTTP server that serves pages: it reads the head of one request, writes the
// answer and closes. It ends after kLongest at the latest, whatever its peer sends, reads or leaves
// undone, and keeps no more than kMostHeadBytes of a request.
class MetricsConnection {
 public:
  static constexpr absl::Duration kLongest = absl::Seconds(10);
  static constexpr std::size_t kMostHeadBytes = 8192;

  struct Reply {
    int status = 200;
    std::string_view type;  // of the body; lives for ever
    std::string body;
  };
  // The page of that path.
  using Page = std::function<Reply(std::string_view path)>;

  // Takes over the socket, which must not block. `ended` is called once and may destroy it.
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
  std::size_t discarded_ = 0;  // bytes behind the request
  bool peer_is_done_ = false;  // it sends nothing more
  std::unique_ptr<Timer> deadline_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_METRICS_CONNECTION_H_
