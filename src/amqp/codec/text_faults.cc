#include "amqp/codec/text_faults.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "amqp/codec/text.h"
#include "base/quoting.h"
#include "base/utf8.h"

namespace retryq::amqp {
namespace {

constexpr std::size_t kLongestHost = 255;

// Characters that separate parts of a URI or several hosts, and are not valid in a name.
constexpr std::string_view kNotInHosts = ",;/\\?#@[]<>\"'|";

// Returns what is wrong with the name or the address of a host; empty if it is valid.
std::string HostFault(std::string_view host) {
  if (host.size() > kLongestHost) return absl::StrCat("is longer than ", kLongestHost, " bytes");
  if (std::any_of(host.begin(), host.end(), [](char c) { return c == ' ' || IsControl(c); })) {
    return "contains a space or a control character";
  }
  if (const std::size_t at = host.find_first_of(kNotInHosts); at != std::string_view::npos) {
    return absl::StrCat("has a '", Text(host.substr(at, 1)), "', but is to be one name or address");
  }
  if (host.find(':') != std::string_view::npos && !IsIpv6Address(host)) {
    return "contains ':' but is not an IPv6 address";
  }
  // OpenSSL matches a name with a leading dot with all names that end with it, and an empty name
  // with any name.
  if (host.starts_with('.') || host.find("..") != std::string_view::npos) {
    return "has an empty part before a dot";
  }
  return "";
}

}  // namespace

bool IsControl(char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }

bool IsIpv6Address(std::string_view text) {
  const std::string address(text.substr(0, text.find('%')));
  in6_addr any;
  return address.find('\0') == std::string::npos && inet_pton(AF_INET6, address.c_str(), &any) == 1;
}

std::vector<std::string> TextFaults(const ConnectionOptions& options) {
  std::vector<std::string> faults;
  const auto check_host = [&](const char* field, std::string_view host) {
    if (const std::string fault = HostFault(host); !fault.empty()) {
      faults.push_back(absl::StrCat(field, " ", InQuotes(host), " ", fault));
    }
  };
  const auto forbid_nul = [&](const char* field, std::string_view text) {
    if (text.find('\0') != std::string_view::npos) {
      faults.push_back(absl::StrCat(field, " must not contain NUL"));
    }
  };
  for (const Endpoint& endpoint : options.endpoints) check_host("host", endpoint.host);
  if (std::any_of(options.user.begin(), options.user.end(), IsControl)) {
    faults.push_back(absl::StrCat("user ", InQuotes(options.user), " has a control character"));
  }
  if (!IsUtf8(options.vhost)) {
    faults.push_back(absl::StrCat("vhost ", InQuotes(options.vhost), " is not UTF-8"));
  }
  forbid_nul("password", options.password);
  if (options.tls) {
    check_host("tls.server_name", options.tls->server_name);
    forbid_nul("tls.ca_file", options.tls->ca_file);
    forbid_nul("tls.cert_file", options.tls->cert_file);
    forbid_nul("tls.key_file", options.tls->key_file);
  }
  return faults;
}

}  // namespace retryq::amqp
