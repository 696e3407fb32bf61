#ifndef RETRYQ_SRC_AMQP_LINK_H_
#define RETRYQ_SRC_AMQP_LINK_H_

#include <cstddef>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "amqp/libevent_ptr.h"
#include "amqp/outbox.h"
#include "amqp/resolver.h"

namespace retryq::amqp {

// What a link reports. Each call but `BeforeFlush` may destroy the link.
class LinkOwner {
 public:
  virtual ~LinkOwner() = default;

  virtual void OnConnected() = 0;
  // Something is in: see `Link::input`.
  virtual void OnInput() = 0;
  // The turn ends: last chance to write something into its outbox.
  virtual void BeforeFlush() = 0;
  // Refused, reset or closed by the peer: `why` in the system's words.
  virtual void OnHungUp(const std::string& why) = 0;
};

// A TCP connection that never blocks: what is in the outbox at the end of the loop's turn
// leaves in one go.
class Link {
 public:
  // Connects. `owner` must outlive it.
  Link(event_base* base, const SocketAddress& address, LinkOwner* owner);
  // What is written and still here is offered to the operating system once more.
  ~Link();

  // Write here; it is sent at the end of the turn.
  Outbox& Write();
  // Sends now what is in the outbox.
  void Flush();
  // Bytes not yet taken by the operating system.
  std::size_t unsent() const;

  evbuffer* input() { return bufferevent_get_input(stream_.get()); }

 private:
  void OnTurnEnd();
  void OnEvent(short what);

  LinkOwner* const owner_;
  Outbox outbox_;
  bool flush_is_due_ = false;
  std::string failure_;  // of the connecting itself, to be told at the turn's end
  BufferEventPtr stream_;
  EventPtr flush_;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_LINK_H_
