#ifndef RETRYQ_TEST_INTEGRATION_AMQP_PROXY_H_
#define RETRYQ_TEST_INTEGRATION_AMQP_PROXY_H_

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/listener.h>
#include <netinet/in.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "retryq/event_loop.h"

namespace retryq::amqp {

// Passes TCP connections on to a broker on 127.0.0.1, until it is told to cut them or to
// let nothing through any more.
class Proxy {
 public:
  Proxy(EventLoop& loop, std::uint16_t broker_port) : loop_(loop), broker_port_(broker_port) {
    sockaddr_in any = Loopback(0);
    listener_ = evconnlistener_new_bind(
        loop.base(),
        [](evconnlistener*, evutil_socket_t fd, sockaddr*, int, void* self) {
          static_cast<Proxy*>(self)->Accept(fd);
        },
        this, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, -1, reinterpret_cast<sockaddr*>(&any),
        sizeof(any));
    socklen_t size = sizeof(any);
    getsockname(evconnlistener_get_fd(listener_), reinterpret_cast<sockaddr*>(&any), &size);
    port_ = ntohs(any.sin_port);
  }
  ~Proxy() {
    Cut();
    evconnlistener_free(listener_);
  }
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  std::uint16_t port() const { return port_; }
  // Connections accepted so far.
  int accepted() const { return accepted_; }

  // Closes all connections, without a word to either end.
  void Cut() {
    for (const auto& pair : pairs_) Close(*pair);
  }

  // From now on nothing passes either way on the connections there are.
  void Freeze() {
    for (const auto& pair : pairs_) {
      if (pair->client == nullptr) continue;
      bufferevent_disable(pair->client, EV_READ | EV_WRITE);
      bufferevent_disable(pair->broker, EV_READ | EV_WRITE);
    }
  }

 private:
  struct Pair {
    bufferevent* client = nullptr;
    bufferevent* broker = nullptr;
  };

  static sockaddr_in Loopback(std::uint16_t port) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }

  void Accept(evutil_socket_t fd) {
    ++accepted_;
    Pair& pair = *pairs_.emplace_back(std::make_unique<Pair>());
    pair.client = bufferevent_socket_new(loop_.base(), fd, BEV_OPT_CLOSE_ON_FREE);
    pair.broker = bufferevent_socket_new(loop_.base(), -1, BEV_OPT_CLOSE_ON_FREE);
    const auto pass_on = [](bufferevent* from, void* arg) {
      const Pair& both = *static_cast<Pair*>(arg);
      bufferevent_write_buffer(from == both.client ? both.broker : both.client,
                               bufferevent_get_input(from));
    };
    const auto on_event = [](bufferevent*, short what, void* arg) {
      if ((what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)) != 0) Close(*static_cast<Pair*>(arg));
    };
    bufferevent_setcb(pair.client, pass_on, nullptr, on_event, &pair);
    bufferevent_setcb(pair.broker, pass_on, nullptr, on_event, &pair);
    bufferevent_enable(pair.client, EV_READ | EV_WRITE);
    bufferevent_enable(pair.broker, EV_READ | EV_WRITE);
    sockaddr_in broker = Loopback(broker_port_);
    bufferevent_socket_connect(pair.broker, reinterpret_cast<sockaddr*>(&broker), sizeof(broker));
  }

  static void Close(Pair& pair) {
    for (bufferevent** end : {&pair.client, &pair.broker}) {
      if (*end != nullptr) bufferevent_free(*end);
      *end = nullptr;
    }
  }

  EventLoop& loop_;
  const std::uint16_t broker_port_;
  evconnlistener* listener_ = nullptr;
  std::uint16_t port_ = 0;
  int accepted_ = 0;
  std::vector<std::unique_ptr<Pair>> pairs_;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_TEST_INTEGRATION_AMQP_PROXY_H_
