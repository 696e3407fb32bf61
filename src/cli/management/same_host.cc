#include "cli/management/same_host.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <future>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/ascii.h"

namespace retryq::cli {
namespace {

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

// Resolves on a separate thread, which is abandoned if it takes too long, as it cannot be
// interrupted. The result is empty if the thread cannot be started.
std::future<std::vector<std::string>> LookUpAside(const std::string& host,
                                                  const LookUpHost& look_up) {
  auto found = std::make_shared<std::promise<std::vector<std::string>>>();
  std::future<std::vector<std::string>> future = found->get_future();
  try {
    std::thread([found, host, look_up] { found->set_value(look_up(host)); }).detach();
  } catch (const std::system_error&) {
    found->set_value({});
  }
  return future;
}

}  // namespace

std::vector<std::string> AddressesOf(const std::string& host) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(found, freeaddrinfo);
  std::vector<std::string> addresses;
  for (const addrinfo* info = found; info != nullptr; info = info->ai_next) {
    addresses.push_back(NumericOf(*info));
  }
  return addresses;
}

std::optional<bool> IsSameHost(const std::string& a, const std::string& b, absl::Duration timeout,
                               const LookUpHost& look_up) {
  if (WithoutCaseAndDot(a) == WithoutCaseAndDot(b)) return true;
  const auto end = std::chrono::steady_clock::now() + absl::ToChronoMilliseconds(timeout);
  std::array<std::future<std::vector<std::string>>, 2> searches = {LookUpAside(a, look_up),
                                                                   LookUpAside(b, look_up)};
  std::array<std::vector<std::string>, 2> found;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (searches[i].wait_until(end) != std::future_status::ready) return std::nullopt;
    found[i] = searches[i].get();
    if (found[i].empty()) return std::nullopt;
    for (std::string& address : found[i]) {
      if (address == "::1" || address.starts_with("127.")) address = kLoopback;
    }
  }
  return std::any_of(found[0].begin(), found[0].end(), [&found](const std::string& address) {
    return std::find(found[1].begin(), found[1].end(), address) != found[1].end();
  });
}

}  // namespace retryq::cli
