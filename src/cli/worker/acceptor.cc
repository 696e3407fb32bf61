#include "cli/worker/acceptor.h"

#include <event2/event.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace retryq::cli {
namespace {

constexpr int kBacklog = 128;

// All IPv6 and IPv4 addresses, and the fallback for a machine without IPv6.
constexpr char kAllAddresses[] = "::";
constexpr char kAllOfIpv4[] = "0.0.0.0";

std::string ErrorName(int error) { return std::generic_category().message(error); }

int AcceptOn(int socket) {
  return ::accept4(socket, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

// Returns whether the error is about one connection only, so that the next accept may succeed.
bool ConcernsOneConnection(int error) {
  switch (error) {
    case EINTR:
    case ECONNABORTED:
    case EPROTO:
    case ENETDOWN:
    case ENETUNREACH:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENONET:
    case ENOPROTOOPT:
    case EOPNOTSUPP:
      return true;
    default:
      return false;
  }
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

}  // namespace

absl::StatusOr<std::unique_ptr<Acceptor>> Acceptor::Listen(event_base* base, Timers& timers,
                                                           const Clock& clock,
                                                           const std::string& host,
                                                           std::uint16_t port, Callbacks callbacks,
                                                           Accept accept) {
  int socket = -1;
  for (const char* const each : host.empty() ? std::vector<const char*>{kAllAddresses, kAllOfIpv4}
                                             : std::vector<const char*>{host.c_str()}) {
    addrinfo hints = {};
    hints.ai_flags = AI_PASSIVE;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int unresolved = ::getaddrinfo(each, std::to_string(port).c_str(), &hints, &found);
    if (unresolved != 0) return absl::InvalidArgumentError(::gai_strerror(unresolved));
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(found, ::freeaddrinfo);
    for (const addrinfo* address = found; socket < 0 && address != nullptr;
         address = address->ai_next) {
      socket = ListenOn(*address);
    }
    if (socket >= 0 || (errno != EAFNOSUPPORT && errno != EADDRNOTAVAIL)) break;
  }
  if (socket < 0) return absl::InvalidArgumentError(ErrorName(errno));
  if (accept == nullptr) accept = AcceptOn;
  return std::unique_ptr<Acceptor>(
      new Acceptor(socket, base, timers, clock, std::move(callbacks), std::move(accept)));
}

Acceptor::Acceptor(int socket, event_base* base, Timers& timers, const Clock& clock,
                   Callbacks callbacks, Accept accept)
    : socket_(socket),
      timers_(timers),
      clock_(clock),
      callbacks_(std::move(callbacks)),
      accept_(std::move(accept)),
      readable_(event_new(
                    base, socket, EV_READ | EV_PERSIST,
                    [](evutil_socket_t, short, void* self) {
                      static_cast<Acceptor*>(self)->OnReadable();
                    },
                    this),
                event_free) {
  event_add(readable_.get(), nullptr);
}

Acceptor::~Acceptor() {
  event_del(readable_.get());
  ::close(socket_);
}

std::uint16_t Acceptor::port() const {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  if (::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                                             : reinterpret_cast<sockaddr_in*>(&address)->sin_port);
}

void Acceptor::OnReadable() {
  for (int tries = 0; tries < kMostInATurn; ++tries) {
    const int socket = accept_(socket_);
    if (socket >= 0) {
      callbacks_.accepted(socket);
    } else if (errno == EAGAIN) {
      return;
    } else if (!ConcernsOneConnection(errno)) {
      return PauseBecause(errno);
    }
  }
}

void Acceptor::PauseBecause(int error) {
  event_del(readable_.get());
  pause_ = timers_.After(kPause, [this] {
    const std::unique_ptr<Timer> fired = std::move(pause_);
    event_add(readable_.get(), nullptr);
  });
  const absl::Duration now = clock_.SinceBoot();
  if (now < report_from_ || callbacks_.trouble == nullptr) return;
  report_from_ = now + kReportEvery;
  callbacks_.trouble(absl::StrCat(
      "no connection can be accepted: ", ErrorName(error),
      error == EMFILE ? "; remedy: raise the limit of open files (ulimit -n, LimitNOFILE=)" : ""));
}

}  // namespace retryq::cli
