#include "cli/worker/metrics_server.h"

#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace retryq::cli {
namespace {

constexpr char kPlainText[] = "text/plain; charset=utf-8";
constexpr char kPrometheusText[] = "text/plain; version=0.0.4; charset=utf-8";

std::string HostInUrl(const std::string& host) {
  if (host.empty()) return "0.0.0.0";
  return host.find(':') == std::string::npos ? host : absl::StrCat("[", host, "]");
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

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Listen(EventLoop& loop,
                                                                     const MetricsAddress& address,
                                                                     Pages pages) {
  return Listen(loop.base(), loop, loop.clock(), address, std::move(pages));
}

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Listen(event_base* base,
                                                                     Timers& timers,
                                                                     const Clock& clock,
                                                                     const MetricsAddress& address,
                                                                     Pages pages) {
  std::unique_ptr<MetricsServer> server(new MetricsServer(base, timers, std::move(pages)));
  absl::StatusOr<std::unique_ptr<Acceptor>> acceptor =
      Acceptor::Listen(base, timers, clock, address.host, address.port,
                       {.accepted = [to = server.get()](int socket) { to->OnAccepted(socket); },
                        .trouble = server->pages_.cannot_accept});
  if (!acceptor.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("cannot listen on ", HostInUrl(address.host),
                                                   ":", address.port, ": ",
                                                   std::string(acceptor.status().message())));
  }
  server->acceptor_ = *std::move(acceptor);
  server->url_ = absl::StrCat("http://", HostInUrl(address.host), ":", server->acceptor_->port());
  return server;
}

void MetricsServer::OnAccepted(int socket) {
  if (connections_.size() >= kMostConnections) connections_.pop_front();
  const auto place = connections_.emplace(connections_.end());
  *place = std::make_unique<MetricsConnection>(
      base_, timers_, socket, [this](std::string_view path) { return PageOf(path); },
      [this, place] { connections_.erase(place); });
}

MetricsConnection::Reply MetricsServer::PageOf(std::string_view path) const {
  if (path == "/metrics") return {.type = kPrometheusText, .body = pages_.metrics()};
  if (path == "/healthz") {
    if (const std::optional<std::string> trouble = pages_.trouble()) {
      return {.status = 503, .type = kPlainText, .body = *trouble + "\n"};
    }
    const auto notice = pages_.notice == nullptr ? std::nullopt : pages_.notice();
    return {.type = kPlainText, .body = notice ? "ok: " + *notice + "\n" : "ok\n"};
  }
  return {.status = 404, .type = kPlainText, .body = "there is /metrics and /healthz\n"};
}

}  // namespace retryq::cli
