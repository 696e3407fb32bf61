#include "cli/worker/metrics_server.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "retryq/amqp/connection_options.h"

namespace retryq::cli {
namespace {

constexpr int kBacklog = 128;

// All IPv6 and IPv4 addresses; and the address to use on a machine without IPv6.
constexpr char kAllAddresses[] = "::";
constexpr char kAllOfIpv4[] = "0.0.0.0";

// "127.0.0.1:9101"
std::string Describe(const MetricsAddress& address, int port) {
  return amqp::Describe({.host = address.host.empty() ? kAllOfIpv4 : address.host,
                         .port = static_cast<std::uint16_t>(port)});
}

// Returns a listening socket, or -1 with the reason in errno.
int ListenOn(const addrinfo& address) {
  const int socket = ::socket(address.ai_family, address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC,
                              address.ai_protocol);
  if (socket < 0) return -1;
  const int on = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (address.ai_family == AF_INET6) {
    const int off = 0;
    ::setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  }
  if (::bind(socket, address.ai_addr, address.ai_addrlen) == 0 && ::listen(socket, kBacklog) == 0) {
    return socket;
  }
  const int error = errno;
  ::close(socket);
  errno = error;
  return -1;
}

// Listens on the first address of the host that can be used. Returns the socket, or
// kInvalidArgument with the reason.
absl::StatusOr<int> ListenOn(const MetricsAddress& address) {
  std::vector<const char*> hosts = {address.host.c_str()};
  if (address.host.empty()) hosts = {kAllAddresses, kAllOfIpv4};
  for (const char* const host : hosts) {
    addrinfo hints = {};
    hints.ai_flags = AI_PASSIVE;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int unresolved =
        ::getaddrinfo(host, std::to_string(address.port).c_str(), &hints, &found);
    if (unresolved != 0) return absl::InvalidArgumentError(::gai_strerror(unresolved));
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(found, ::freeaddrinfo);
    for (; found != nullptr; found = found->ai_next) {
      if (const int socket = ListenOn(*found); socket >= 0) return socket;
    }
    if (errno != EAFNOSUPPORT && errno != EADDRNOTAVAIL) break;
  }
  return absl::InvalidArgumentError(std::strerror(errno));
}

int PortOf(int socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                                             : reinterpret_cast<sockaddr_in*>(&address)->sin_port);
}

// evhttp passes itself to the callback for errors of its listener.
std::map<void*, MetricsServer*>& Servers() {
  static std::map<void*, MetricsServer*> servers;
  return servers;
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

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Listen(event_base* base,
                                                                     Timers& timers,
                                                                     const Clock& clock,
                                                                     const MetricsAddress& address,
                                                                     Pages pages) {
  const absl::StatusOr<int> socket = ListenOn(address);
  if (!socket.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("cannot listen on ",
                                                   Describe(address, address.port), ": ",
                                                   std::string(socket.status().message())));
  }
  std::unique_ptr<MetricsServer> server(new MetricsServer(base, timers, clock, std::move(pages)));
  server->url_ = absl::StrCat("http://", Describe(address, PortOf(*socket)));
  server->listener_ = evconnlistener_new(base, nullptr, nullptr,
                                         LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, *socket);
  evhttp_bind_listener(server->http_.get(), server->listener_);
  evconnlistener_set_error_cb(server->listener_, [](evconnlistener*, void* http) {
    Servers().at(http)->OnAcceptError(errno);
  });
  return server;
}

MetricsServer::MetricsServer(event_base* base, Timers& timers, const Clock& clock, Pages pages)
    : base_(base),
      timers_(timers),
      clock_(clock),
      pages_(std::move(pages)),
      http_(evhttp_new(base), evhttp_free) {
  evhttp* const http = http_.get();
  Servers().emplace(http, this);
  evhttp_set_max_headers_size(http, kMostHeadBytes);
  evhttp_set_max_body_size(http, kMostHeadBytes);
  evhttp_set_timeout(http, static_cast<int>(absl::ToInt64Seconds(kLongest)));
  evhttp_set_allowed_methods(http, UINT16_MAX);  // OnRequest refuses them
  evhttp_set_bevcb(
      http, [](event_base*, void* self) { return static_cast<MetricsServer*>(self)->OnAccepted(); },
      this);
  evhttp_set_gencb(
      http,
      [](evhttp_request* request, void* self) {
        static_cast<MetricsServer*>(self)->OnRequest(request);
      },
      this);
}

MetricsServer::~MetricsServer() { Servers().erase(http_.get()); }

void MetricsServer::Connection::Shutdown() const {
  ::shutdown(bufferevent_getfd(stream.get()), SHUT_RDWR);
}

// evhttp passes the socket to the stream that this returns.
bufferevent* MetricsServer::OnAccepted() {
  if (connections_.size() >= kMostConnections) {
    connections_.front().Shutdown();
    connections_.pop_front();
  }
  bufferevent* const stream = bufferevent_socket_new(base_, -1, BEV_OPT_CLOSE_ON_FREE);
  bufferevent_incref(stream);
  connections_.push_back(
      {.stream = {stream, [](bufferevent* b) { bufferevent_decref(b); }}, .deadline = nullptr});
  const auto place = std::prev(connections_.end());
  place->deadline = timers_.After(kLongest, [this, place] {
    place->Shutdown();
    connections_.erase(place);
  });
  // Leaves time for other events of the loop.
  if (++accepted_ % kMostInATurn == 0) StopAccepting(absl::ZeroDuration());
  return stream;
}

void MetricsServer::OnAcceptError(int error) {
  StopAccepting(kPause);
  const absl::Duration now = clock_.SinceBoot();
  if (now < report_from_) return;
  report_from_ = now + kReportEvery;
  pages_.cannot_accept(absl::StrCat(
      "no connection can be accepted: ", std::strerror(error),
      error == EMFILE ? "; remedy: raise the limit of open files (ulimit -n, LimitNOFILE=)" : ""));
}

void MetricsServer::StopAccepting(absl::Duration pause) {
  evconnlistener_disable(listener_);
  pause_ = timers_.After(pause, [this] {
    const std::unique_ptr<Timer> fired = std::move(pause_);
    evconnlistener_enable(listener_);
  });
}

void MetricsServer::OnRequest(evhttp_request* request) {
  const evhttp_cmd_type method = evhttp_request_get_command(request);
  evkeyvalq* const headers = evhttp_request_get_output_headers(request);
  Reply reply;
  if (method == EVHTTP_REQ_GET || method == EVHTTP_REQ_HEAD) {
    const char* const path = evhttp_uri_get_path(evhttp_request_get_evhttp_uri(request));
    reply = PageOf(path == nullptr ? "" : path);
  } else {
    reply = {.status = 405, .reason = "Method Not Allowed", .body = "use GET or HEAD\n"};
    evhttp_add_header(headers, "Allow", "GET, HEAD");
  }
  evhttp_add_header(headers, "Content-Type", reply.type);
  evhttp_add_header(headers, "Content-Length", std::to_string(reply.body.size()).c_str());
  evhttp_add_header(headers, "Connection", "close");
  evbuffer* const body = evhttp_request_get_output_buffer(request);
  if (method != EVHTTP_REQ_HEAD) evbuffer_add(body, reply.body.data(), reply.body.size());
  evhttp_connection* const connection = evhttp_request_get_connection(request);
  evhttp_connection_set_closecb(
      connection,
      [](evhttp_connection* closed, void* self) {
        static_cast<MetricsServer*>(self)->connections_.remove_if([closed](const Connection& each) {
          return each.stream.get() == evhttp_connection_get_bufferevent(closed);
        });
      },
      this);
  evhttp_send_reply(request, reply.status, reply.reason, nullptr);
  // A peer that has closed its side still receives the reply.
  bufferevent_disable(evhttp_connection_get_bufferevent(connection), EV_READ);
}

MetricsServer::Reply MetricsServer::PageOf(std::string_view path) const {
  if (path == "/metrics") {
    return {.type = "text/plain; version=0.0.4; charset=utf-8", .body = pages_.metrics()};
  }
  if (path != "/healthz") {
    return {.status = 404,
            .reason = "Not Found",
            .body = "there are the pages /metrics and /healthz\n"};
  }
  if (const std::optional<std::string> trouble = pages_.trouble()) {
    return {.status = 503, .reason = "Service Unavailable", .body = *trouble + "\n"};
  }
  const std::optional<std::string> notice = pages_.notice();
  return {.body = notice ? "ok: " + *notice + "\n" : "ok\n"};
}

}  // namespace retryq::cli
