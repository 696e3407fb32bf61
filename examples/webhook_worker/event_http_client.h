#ifndef RETRYQ_EXAMPLES_WEBHOOK_WORKER_EVENT_HTTP_CLIENT_H_
#define RETRYQ_EXAMPLES_WEBHOOK_WORKER_EVENT_HTTP_CLIENT_H_

#include <event2/http.h>

#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "retryq/event_loop.h"

struct evdns_base;

namespace examples {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  evhttp_cmd_type method = EVHTTP_REQ_GET;
  // http://host:port/path?query; port, path and query are optional.
  std::string url;
  HttpHeaders headers = {};
  std::string body = {};
  // Limit of the whole call, from resolving the host to the end of the response.
  absl::Duration timeout = absl::Seconds(30);
};

struct HttpReply {
  int status = 0;
  std::string reason;  // "Service Unavailable"
  HttpHeaders headers = {};
  std::string body = {};

  // Returns the first header with this name (in upper or lower case), or an empty string.
  std::string_view Header(std::string_view name) const;
};

// An HTTP client on retryq's event loop, which uses libevent's client. It makes any number of
// requests at once, each on a separate connection, and never blocks. Use it on the loop's thread
// and destroy it before the loop; callbacks of open requests are then dropped.
class HttpClient {
 public:
  explicit HttpClient(retryq::EventLoop& loop);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Every response is a reply, also 404 or 503. Errors: kDeadlineExceeded; kUnavailable, if there
  // is no connection or it was closed before the response; kInvalidArgument, if the URL is invalid.
  // Calls back exactly once, from the loop or, if it fails immediately, from inside `Send`.
  using Done = absl::AnyInvocable<void(absl::StatusOr<HttpReply>)>;
  void Send(HttpRequest request, Done done);

 private:
  struct Call;

  void Finish(Call& call, absl::StatusOr<HttpReply> reply);

  retryq::EventLoop& loop_;
  std::unique_ptr<evdns_base, void (*)(evdns_base*)> dns_;
  std::list<Call> calls_;
  std::list<Call> finished_;  // freed on the next turn, after libevent has returned
  std::unique_ptr<retryq::Timer> sweep_;
};

}  // namespace examples

#endif  // RETRYQ_EXAMPLES_WEBHOOK_WORKER_EVENT_HTTP_CLIENT_H_
