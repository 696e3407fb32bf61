#ifndef RETRYQ_CLI_MANAGEMENT_HTTP_CLIENT_H_
#define RETRYQ_CLI_MANAGEMENT_HTTP_CLIENT_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/management/management_url.h"
#include "retryq/event_loop.h"

namespace retryq::cli {

struct HttpReply {
  int status = 0;
  std::string body;
  // The server's clock, in whole seconds, rounded down. Nothing where it does not say.
  std::optional<absl::Time> date;
  // By our clock.
  absl::Time sent;
  absl::Time received;
};

// An HTTP client for a command that does one thing after the other: libcurl on the event loop. Each
// request is made on a connection of its own, to the hosts in turn until one answers. Proxies of
// the environment are ignored, and redirects are replies.
class HttpClient {
 public:
  struct Options {
    absl::Duration timeout =
        absl::Seconds(10);  // of one request, from resolving the host to the answer
    std::size_t max_body = std::size_t{64} << 20;
    bool say_waiting = true;  // on stderr, where an answer takes long
    bool asks_again = true;   // after a request that was not answered in time
    // Once that is set, every request is kCancelled. Must outlive the client.
    const std::atomic<bool>* is_over = nullptr;
  };

  // `loop` must outlive it.
  HttpClient(EventLoop& loop, ManagementUrl url, Options options);
  HttpClient(EventLoop& loop, ManagementUrl url) : HttpClient(loop, std::move(url), Options()) {}
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // GETs a path such as "/api/overview", percent-encoded: runs the loop until the answer is there.
  // Whatever the server answers is a reply, 404 and 503 too. Errors begin with the URL:
  // kUnavailable (no connection), kDeadlineExceeded, kFailedPrecondition (TLS, or what answers is
  // no HTTP server), kResourceExhausted (a body above max_body, headers above 64 KiB),
  // kInvalidArgument (TLS's files), kCancelled (the loop was stopped).
  absl::StatusOr<HttpReply> Get(const std::string& path);

  const ManagementUrl& url() const { return url_; }

 private:
  class Transfers;
  class Request;

  EventLoop& loop_;
  ManagementUrl url_;
  const Options options_;
  const std::unique_ptr<Transfers> transfers_;
  bool silent_ = false;             // a request was not answered in time
  std::vector<std::string> hosts_;  // the one that answered last comes first
};

// As part of a path or a query: all but letters, digits and -._~ as %XX.
std::string PercentEncode(const std::string& text);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MANAGEMENT_HTTP_CLIENT_H_
