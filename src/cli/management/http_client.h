#ifndef RETRYQ_CLI_MANAGEMENT_HTTP_CLIENT_H_
#define RETRYQ_CLI_MANAGEMENT_HTTP_CLIENT_H_

#include <cstddef>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "retryq/amqp/connection_options.h"
#include "retryq/event_loop.h"

namespace retryq::cli {

// The address of RabbitMQ's management HTTP API and its credentials.
struct ManagementUrl {
  amqp::Endpoint endpoint;
  std::vector<std::string> more_hosts;  // other nodes, if the first does not reply
  std::optional<amqp::TlsOptions> tls;  // set for https
  std::string user;
  std::string password;
  // Returns the current options of the broker, whose user and password may change; null: they do
  // not change.
  std::function<absl::StatusOr<amqp::ConnectionOptions>()> renewed;
  std::string path_prefix;  // path before "/api", such as "/rabbitmq"; usually empty
};

// Parses `http://user:password@host:port/prefix` or `https://`, with the TLS parameters of
// amqps://. The default port is 80 or 443, the default user that of `broker`. Returns
// kInvalidArgument with the wrong part, never with the password.
absl::StatusOr<ManagementUrl> ParseManagementUrl(const std::string& url,
                                                 const amqp::ConnectionOptions& broker);

// The broker's hosts, by http on port 15672, or if it uses TLS, by https on port 15671 with the
// same authorities.
ManagementUrl DefaultManagementUrl(const amqp::ConnectionOptions& broker);

// "http://host:port/prefix", without user and password.
std::string Describe(const ManagementUrl& url);

// Returns whether both are the same host: equal, ignoring case and a dot at the end, or with a
// common address, where all loopback addresses are equal; nullopt if one cannot be resolved. Blocks
// if they are not equal.
std::optional<bool> IsSameHost(const std::string& a, const std::string& b);

struct HttpReply {
  int status = 0;
  std::string body;
  // The server's clock, in whole seconds, rounded down; not set if it is missing.
  std::optional<absl::Time> date;
  // Times of the local clock.
  absl::Time sent;
  absl::Time received;
};

// An HTTP client: libcurl on the event loop. Each request uses a new connection and tries the hosts
// one after the other until one replies. Ignores proxies in the environment and does not follow
// redirects. Used on the loop's thread.
class HttpClient {
 public:
  struct Options {
    absl::Duration timeout =
        absl::Seconds(10);  // of one request, from resolving the host to the reply
    std::size_t max_body = std::size_t{64} << 20;
    bool say_waiting = true;  // reports slow replies on stderr
    bool asks_again = true;   // runs the loop for further requests after a timeout
  };
  using Done = std::function<void(const absl::StatusOr<HttpReply>& reply)>;

  // `loop` must outlive it.
  HttpClient(EventLoop& loop, ManagementUrl url, Options options);
  HttpClient(EventLoop& loop, ManagementUrl url) : HttpClient(loop, std::move(url), Options()) {}
  // Ends all requests without calling their `done`.
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Sends GET for a path such as "/api/overview", percent-encoded, and calls `done` later, which
  // may destroy the client. Any HTTP status is a reply, even 404 and 503. Errors begin with the
  // URL: kUnavailable (no connection), kDeadlineExceeded, kFailedPrecondition (TLS, or not an HTTP
  // server), kResourceExhausted (a body above max_body, headers above 64 KiB), kInvalidArgument
  // (TLS files).
  void Get(const std::string& path, Done done);

  // Runs the loop until the reply. Also returns kCancelled if the loop was stopped first.
  absl::StatusOr<HttpReply> Get(const std::string& path);

  const ManagementUrl& url() const { return url_; }

 private:
  class Request;
  struct Call;

  Call& Begin(const std::string& path, Done done);
  void Continue(Call& call);
  void OnEnd(Call& call, const absl::Status& status);
  void End(Call& call, const absl::StatusOr<HttpReply>& reply);

  EventLoop& loop_;
  ManagementUrl url_;
  const Options options_;
  bool silent_ = false;             // a request has timed out
  std::vector<std::string> hosts_;  // the host that replied last is tried first
  std::list<Call> calls_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MANAGEMENT_HTTP_CLIENT_H_
