#include "amqp/resolver.h"

#include <netdb.h>

#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"

namespace retryq::amqp {
namespace {

absl::StatusOr<std::vector<SocketAddress>> Resolve(const Endpoint& endpoint) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string port = absl::StrCat(endpoint.port);
  const int error = getaddrinfo(endpoint.host.c_str(), port.c_str(), &hints, &found);
  if (error != 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot resolve host '", endpoint.host, "': ", gai_strerror(error)));
  }
  std::vector<SocketAddress> addresses;
  for (const addrinfo* info = found; info != nullptr; info = info->ai_next) {
    SocketAddress& address = addresses.emplace_back();
    std::memcpy(&address.storage, info->ai_addr, info->ai_addrlen);
    address.size = info->ai_addrlen;
  }
  freeaddrinfo(found);
  return addresses;
}

}  // namespace

Resolver::Resolver(const Endpoint& endpoint, std::shared_ptr<Executor> executor, Done done)
    : done_(std::make_shared<Done>(std::move(done))) {
  const auto answer = [executor = std::move(executor), weak = std::weak_ptr(done_)](auto result) {
    executor->Post([weak, result = std::move(result)] {
      if (const auto waiting = weak.lock()) (*waiting)(result);
    });
  };
  try {
    std::thread([endpoint, answer] { answer(Resolve(endpoint)); }).detach();
  } catch (const std::system_error& error) {
    answer(absl::StatusOr<std::vector<SocketAddress>>(absl::UnavailableError(
        absl::StrCat("no thread to resolve '", endpoint.host, "' on: ", error.what()))));
  }
}

}  // namespace retryq::amqp
