#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "cli/management/http_client.h"

namespace retryq::cli {
namespace {

constexpr absl::string_view kHttp = "http://";
constexpr absl::string_view kHttps = "https://";
constexpr std::uint16_t kHttpPort = 80;
constexpr std::uint16_t kHttpsPort = 443;
constexpr std::uint16_t kManagementPort = 15672;
constexpr std::uint16_t kManagementTlsPort = 15671;

// Returns whether "user:password@host:port" contains a port.
bool HasPort(std::string_view authority) {
  const std::string_view host = authority.substr(authority.rfind('@') + 1);
  const std::size_t colon = host.rfind(':');
  const std::size_t bracket = host.rfind(']');
  if (colon == std::string_view::npos || colon + 1 == host.size()) return false;
  return bracket == std::string_view::npos || colon > bracket;
}

bool IsPrintable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

// The library's error messages about AMQP URIs are also correct for this URL.
std::string WithoutScheme(const absl::Status& status) {
  std::string what(status.message());
  constexpr std::string_view kWhose = "AMQP URI: ";
  if (what.starts_with(kWhose)) what.erase(0, kWhose.size());
  return what;
}

constexpr char kLoopback[] = "loopback";

std::string WithoutCaseAndDot(std::string host) {
  absl::AsciiStrToLower(&host);
  if (host.ends_with('.')) host.pop_back();
  return host;
}

std::string NumericOf(const addrinfo& info) {
  std::array<char, NI_MAXHOST> text = {};
  if (getnameinfo(info.ai_addr, info.ai_addrlen, text.data(), text.size(), nullptr, 0,
                  NI_NUMERICHOST) != 0) {
    return "";
  }
  return text.data();
}

// The numeric addresses of a host; empty if it cannot be resolved.
std::vector<std::string> AddressesOf(const std::string& host) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(found, freeaddrinfo);
  std::vector<std::string> addresses;
  for (const addrinfo* info = found; info != nullptr; info = info->ai_next) {
    const std::string address = NumericOf(*info);
    const bool is_loopback = address == "::1" || address.starts_with("127.");
    addresses.push_back(is_loopback ? kLoopback : address);
  }
  return addresses;
}

}  // namespace

absl::StatusOr<ManagementUrl> ParseManagementUrl(const std::string& url,
                                                 const amqp::ConnectionOptions& broker) {
  const bool tls = absl::StartsWithIgnoreCase(url, kHttps);
  if (!tls && !absl::StartsWithIgnoreCase(url, kHttp)) {
    return absl::InvalidArgumentError(
        "must begin with http:// or https://, as in http://guest:guest@localhost:15672");
  }
  std::string_view rest = std::string_view(url).substr((tls ? kHttps : kHttp).size());
  const std::string_view query = rest.substr(std::min(rest.find('?'), rest.size()));
  rest.remove_suffix(query.size());
  std::string_view path = rest.substr(std::min(rest.find('/'), rest.size()));
  const std::string_view authority = rest.substr(0, rest.size() - path.size());
  if (path.find('@') != std::string_view::npos) {  // a password may contain it
    return absl::InvalidArgumentError(
        "a '/', '?' or '@' in user or password must be percent-encoded (%2f, %3f, %40)");
  }
  while (path.ends_with('/')) path.remove_suffix(1);
  if (path.ends_with("/api")) path.remove_suffix(4);
  if (!IsPrintable(path)) {
    return absl::InvalidArgumentError("the path must be percent-encoded (%20 for a blank)");
  }

  const absl::StatusOr<amqp::ConnectionOptions> parsed = amqp::ParseUri(
      std::string(tls ? "amqps://" : "amqp://").append(authority).append("/").append(query));
  if (!parsed.ok()) return absl::InvalidArgumentError(WithoutScheme(parsed.status()));

  const bool has_user = authority.find('@') != std::string_view::npos;
  ManagementUrl management{.endpoint = parsed->endpoints.front(),
                           .tls = parsed->tls,
                           .user = has_user ? parsed->user : broker.user,
                           .password = has_user ? parsed->password : broker.password,
                           .path_prefix = std::string(path)};
  if (!HasPort(authority)) management.endpoint.port = tls ? kHttpsPort : kHttpPort;
  return management;
}

ManagementUrl DefaultManagementUrl(const amqp::ConnectionOptions& broker) {
  ManagementUrl management{.endpoint = {.host = broker.endpoints.front().host,
                                        .port = broker.tls ? kManagementTlsPort : kManagementPort},
                           .tls = broker.tls,
                           .user = broker.user,
                           .password = broker.password};
  for (const amqp::Endpoint& endpoint : broker.endpoints) {
    if (endpoint.host != management.endpoint.host) management.more_hosts.push_back(endpoint.host);
  }
  return management;
}

std::string Describe(const ManagementUrl& url) {
  return absl::StrCat(url.tls ? "https://" : "http://", amqp::Describe(url.endpoint),
                      url.path_prefix);
}

std::optional<bool> IsSameHost(const std::string& a, const std::string& b) {
  if (WithoutCaseAndDot(a) == WithoutCaseAndDot(b)) return true;
  const std::vector<std::string> ours = AddressesOf(a);
  const std::vector<std::string> theirs = AddressesOf(b);
  if (ours.empty() || theirs.empty()) return std::nullopt;
  return std::find_first_of(ours.begin(), ours.end(), theirs.begin(), theirs.end()) != ours.end();
}

}  // namespace retryq::cli
