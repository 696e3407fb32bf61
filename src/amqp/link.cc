#include "amqp/link.h"

#include <event2/buffer.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <utility>

namespace retryq::amqp {
namespace {

// libevent's default of 16 KiB would spread a turn over many calls.
constexpr std::size_t kMaxSingleRead = std::size_t{256} << 10;
constexpr std::size_t kMaxSingleWrite = std::size_t{1} << 20;

// libevent's own would be inherited by every child process. -1 if there is none to be had.
evutil_socket_t OpenSocket(const SocketAddress& address) {
  const int fd =
      socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
  const int on = 1;
  if (fd >= 0) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return fd;
}

}  // namespace

Link::Link(event_base* base, const SocketAddress& address, LinkOwner* owner)
    : owner_(owner),
      stream_(bufferevent_socket_new(base, OpenSocket(address), BEV_OPT_CLOSE_ON_FREE)),
      flush_(event_new(
          base, -1, 0,
          [](evutil_socket_t, short, void* self) { static_cast<Link*>(self)->OnTurnEnd(); },
          this)) {
  bufferevent_set_max_single_read(stream_.get(), kMaxSingleRead);
  bufferevent_set_max_single_write(stream_.get(), kMaxSingleWrite);
  sockaddr_storage target = address.storage;
  const int started = bufferevent_socket_connect(
      stream_.get(), reinterpret_cast<sockaddr*>(&target), static_cast<int>(address.size));
  if (started < 0) {
    failure_ = evutil_socket_error_to_string(EVUTIL_SOCKET_ERROR());
    Write();
    return;
  }
  bufferevent_setcb(
      stream_.get(), [](bufferevent*, void* self) { static_cast<Link*>(self)->owner_->OnInput(); },
      nullptr,
      [](bufferevent*, short what, void* self) { static_cast<Link*>(self)->OnEvent(what); }, this);
  bufferevent_enable(stream_.get(), EV_READ | EV_WRITE);
}

Link::~Link() {
  Flush();
  // A bufferevent that is freed forgets its output, and keeps it frozen for others.
  const evutil_socket_t fd = bufferevent_getfd(stream_.get());
  evbuffer* output = bufferevent_get_output(stream_.get());
  if (fd < 0 || evbuffer_get_length(output) == 0) return;
  evbuffer_unfreeze(output, /*at_front=*/1);
  while (evbuffer_get_length(output) > 0 && evbuffer_write(output, fd) > 0) {
  }
}

Outbox& Link::Write() {
  if (!std::exchange(flush_is_due_, true)) event_active(flush_.get(), EV_TIMEOUT, 0);
  return outbox_;
}

void Link::OnTurnEnd() {
  if (!failure_.empty()) return owner_->OnHungUp(failure_);
  if (!flush_is_due_) return;  // flushed within the turn
  owner_->BeforeFlush();
  Flush();
}

void Link::Flush() {
  flush_is_due_ = false;
  if (!outbox_.empty()) outbox_.MoveTo(bufferevent_get_output(stream_.get()));
}

std::size_t Link::unsent() const {
  return outbox_.size() + evbuffer_get_length(bufferevent_get_output(stream_.get()));
}

void Link::OnEvent(short what) {
  if ((what & BEV_EVENT_CONNECTED) != 0) return owner_->OnConnected();
  const int error = EVUTIL_SOCKET_ERROR();
  const bool closed = (what & BEV_EVENT_EOF) != 0 || error == 0;
  owner_->OnHungUp(closed ? "closed by the peer" : evutil_socket_error_to_string(error));
}

}  // namespace retryq::amqp
