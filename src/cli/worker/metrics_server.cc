#include "cli/worker/metrics_server.h"

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/http.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace retryq::cli {
namespace {

constexpr char kPlainText[] = "text/plain; charset=utf-8";
constexpr char kPrometheusText[] = "text/plain; version=0.0.4; charset=utf-8";
constexpr ev_ssize_t kMostHeaderBytes = 8192;
constexpr int kTimeoutSeconds = 10;

std::uint16_t BoundPort(evutil_socket_t socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                                             : reinterpret_cast<sockaddr_in*>(&address)->sin_port);
}

std::string HostInUrl(const std::string& host) {
  return host.find(':') == std::string::npos ? host : absl::StrCat("[", host, "]");
}

void Reply(evhttp_request* request, int status, const char* type, std::string_view body) {
  evkeyvalq* const headers = evhttp_request_get_output_headers(request);
  evhttp_add_header(headers, "Content-Type", type);
  evbuffer_add(evhttp_request_get_output_buffer(request), body.data(), body.size());
  evhttp_send_reply(request, status, nullptr, nullptr);
}

}  // namespace

absl::StatusOr<MetricsAddress> ParseMetricsAddress(const std::string& text) {
  const std::string remedy =
      "write a port, such as 9101, or an address and a port: 127.0.0.1:9101, [::1]:9101";
  MetricsAddress address;
  const std::size_t colon = text.rfind(':');
  if (colon != std::string::npos) {
    address.host = text.substr(0, colon);
    const bool bracketed =
        address.host.size() > 2 && address.host.front() == '[' && address.host.back() == ']';
    if (bracketed) address.host = address.host.substr(1, address.host.size() - 2);
    if (address.host.empty() ||
        address.host.find_first_of(bracketed ? "[]" : "[]:") != std::string::npos) {
      return absl::InvalidArgumentError(remedy);
    }
  }
  const std::string port = colon == std::string::npos ? text : text.substr(colon + 1);
  std::uint32_t number = 0;
  if (port.empty() || port.find_first_not_of("0123456789") != std::string::npos ||
      !absl::SimpleAtoi(port, &number) || number > UINT16_MAX) {
    return absl::InvalidArgumentError(remedy);
  }
  address.port = static_cast<std::uint16_t>(number);
  return address;
}

MetricsServer::MetricsServer(EventLoop& loop, Pages pages)
    : pages_(std::move(pages)), http_(evhttp_new(loop.base()), evhttp_free) {
  evhttp_set_allowed_methods(http_.get(), EVHTTP_REQ_GET | EVHTTP_REQ_HEAD);
  evhttp_set_max_headers_size(http_.get(), kMostHeaderBytes);
  evhttp_set_max_body_size(http_.get(), 0);
  evhttp_set_timeout(http_.get(), kTimeoutSeconds);
  evhttp_set_gencb(http_.get(), &MetricsServer::Answer, this);
}

MetricsServer::~MetricsServer() = default;

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Listen(EventLoop& loop,
                                                                     const MetricsAddress& address,
                                                                     Pages pages) {
  std::unique_ptr<MetricsServer> server(new MetricsServer(loop, std::move(pages)));
  evhttp_bound_socket* const bound =
      evhttp_bind_socket_with_handle(server->http_.get(), address.host.c_str(), address.port);
  if (bound == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("cannot listen on ", HostInUrl(address.host),
                                                   ":", address.port, ": ",
                                                   std::generic_category().message(errno)));
  }
  server->url_ = absl::StrCat("http://", HostInUrl(address.host), ":",
                              BoundPort(evhttp_bound_socket_get_fd(bound)));
  return server;
}

void MetricsServer::Answer(evhttp_request* request, void* server) {
  static_cast<MetricsServer*>(server)->Answer(request);
}

void MetricsServer::Answer(evhttp_request* request) const {
  const evhttp_uri* const uri = evhttp_request_get_evhttp_uri(request);
  const char* const given = uri == nullptr ? nullptr : evhttp_uri_get_path(uri);
  const std::string_view path = given == nullptr ? std::string_view() : given;
  if (path == "/metrics") {
    Reply(request, HTTP_OK, kPrometheusText, pages_.metrics());
  } else if (path == "/healthz") {
    const std::optional<std::string> trouble = pages_.trouble();
    Reply(request, trouble ? HTTP_SERVUNAVAIL : HTTP_OK, kPlainText, trouble.value_or("ok") + "\n");
  } else {
    Reply(request, HTTP_NOTFOUND, kPlainText, "there is /metrics and /healthz\n");
  }
}

}  // namespace retryq::cli
