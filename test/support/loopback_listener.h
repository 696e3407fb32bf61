#ifndef RETRYQ_TEST_SUPPORT_LOOPBACK_LISTENER_H_
#define RETRYQ_TEST_SUPPORT_LOOPBACK_LISTENER_H_

#include <arpa/inet.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "retryq/event_loop.h"
#include "support/standard.h"

namespace retryq::testing {

inline sockaddr_in Loopback(std::uint16_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// Accepts connections on a free port of the loopback interface, on its loop's thread.
class LoopbackListener {
 public:
  // `accept` receives the non-blocking socket of each connection, and must close it. Throws
  // std::runtime_error if there is no free port.
  LoopbackListener(EventLoop& loop, std::function<void(evutil_socket_t)> accept)
      : accept_(std::move(accept)) {
    sockaddr_in address = Loopback(0);
    socklen_t size = sizeof(address);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    listener_.reset(evconnlistener_new_bind(
        loop.base(),
        [](evconnlistener*, evutil_socket_t fd, sockaddr*, int, void* self) {
          static_cast<LoopbackListener*>(self)->accept_(fd);
        },
        this, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, -1, any, sizeof(address)));
    if (listener_ == nullptr ||
        getsockname(evconnlistener_get_fd(listener_.get()), any, &size) != 0) {
      throw std::runtime_error("no port to listen on");
    }
    port_ = ntohs(address.sin_port);
  }
  LoopbackListener(const LoopbackListener&) = delete;
  LoopbackListener& operator=(const LoopbackListener&) = delete;

  std::uint16_t port() const { return port_; }

 private:
  struct Free {
    void operator()(evconnlistener* listener) const { evconnlistener_free(listener); }
  };

  const std::function<void(evutil_socket_t)> accept_;
  std::unique_ptr<evconnlistener, Free> listener_;
  std::uint16_t port_ = 0;
};

// A connected socket, which the caller closes. Throws std::runtime_error if nobody listens.
inline int ConnectTo(std::uint16_t port) {
  sockaddr_in address = Loopback(port);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    throw std::runtime_error("nobody listens on port " + std::to_string(port));
  }
  return fd;
}

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_SUPPORT_LOOPBACK_LISTENER_H_
