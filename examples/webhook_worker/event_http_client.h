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
  // For all of it: looking up the host, connecting, sending, and the whole answer.
  absl::Duration timeout = absl::Seconds(30);
};

struct HttpReply {
  int status = 0;
  std::string reason;  // "Service Unavailable"
  HttpHeaders headers;
  std::string body;

  // The first header of that name, in any case; empty if there is none.
  std::string_view Header(std::string_view name) const;
};

// An HTTP client on retryq's event loop, by means of libevent's own: any number of requests at
// once, each on a connection of its own, nothing blocks. Used on the loop's thread; destroy it
// before the loop. Answers still awaited then are dropped uncalled.
class HttpClient {
 public:
  explicit HttpClient(retryq::EventLoop& loop);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Whatever the server answers is a reply, 404 and 503 too. Errors: kDeadlineExceeded,
  // kUnavailable (no connection, or it was closed before the answer), kInvalidArgument (the URL).
  // Calls back exactly once, from the loop, or where it fails at once from inside `Send`.
  using Done = absl::AnyInvocable<void(absl::StatusOr<HttpReply>)>;
  void Send(HttpRequest request, Done done);

 private:
  struct Call;

  void Finish(Call& call, absl::StatusOr<HttpReply> reply);

  retryq::EventLoop& loop_;
  std::unique_ptr<evdns_base, void (*)(evdns_base*)> dns_;
  std::list<Call> calls_;
  std::list<Call> finished_;  // freed at the next turn, when libevent has returned from them
  std::unique_ptr<retryq::Timer> sweep_;
};

}  // namespace examples

#endif  // RETRYQ_EXAMPLES_WEBHOOK_WORKER_EVENT_HTTP_CLIENT_H_
