#ifndef RETRYQ_TEST_SUPPORT_PROXY_H_
#define RETRYQ_TEST_SUPPORT_PROXY_H_

#include <event2/bufferevent.h>

#include "amqp/codec/frame.h"
#include "retryq/event_loop.h"
#include "support/loopback_listener.h"
#include "support/standard.h"

namespace retryq::testing {

// Receives the frames that pass through a proxy.
class ProxyListener {
 public:
  // The direction of bytes.
  enum class Way { kToBroker, kToClient };

  virtual ~ProxyListener() = default;
  // A frame is about to be passed on. Connections are numbered from 0.
  virtual void OnFrame(int connection, Way way, const amqp::FrameView& frame) = 0;
  virtual void OnClosed(int connection) = 0;
};

// Forwards TCP connections to a broker on 127.0.0.1, and disturbs them on request. Used on the
// loop's thread.
class Proxy {
 public:
  using Way = ProxyListener::Way;

  // The flow of bytes.
  enum class Flow {
    kPass,
    kHold,     // not at all: bytes and the closing of connections are held back
    kTrickle,  // each byte is sent separately
  };

  // A place in the conversation to cut the connection at: a kind of frame.
  struct Phase {
    // The protocol header of a client is not in a frame.
    enum class Kind { kProtocolHeader, kMethod, kHeader, kBody };
    enum class Cut { kBefore, kWithin, kAfter };

    Way way = Way::kToBroker;
    Kind kind = Kind::kMethod;
    std::uint16_t class_id = 0;   // of a method
    std::uint16_t method_id = 0;  // likewise
    Cut cut = Cut::kBefore;
  };

  // Parses frames: the connections must be unencrypted AMQP. The listener must outlive the proxy;
  // it may be null.
  struct ReadAlong {
    ProxyListener* listener = nullptr;
  };

  Proxy(EventLoop& loop, std::uint16_t broker_port) : Proxy(loop, broker_port, std::nullopt) {}
  Proxy(EventLoop& loop, std::uint16_t broker_port, std::optional<ReadAlong> read_along);
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  std::uint16_t port() const { return listener_.port(); }
  // Connections accepted so far.
  int accepted() const { return static_cast<int>(pairs_.size()); }

  // Closes all connections, without a close on the protocol level.
  void Cut();

  // From now on, no bytes pass on the existing connections, in either direction.
  void Freeze();

  // Sets the flow of bytes on all existing and future connections.
  void SetFlow(Way way, Flow flow);

  // Closes the first connection that reaches this place, once. Needs ReadAlong.
  void CutAt(const Phase& phase) { cut_at_ = phase; }
  // Whether no connection has reached the place yet.
  bool cut_is_pending() const { return cut_at_.has_value(); }

 private:
  struct Pair;

  // One direction of one connection.
  struct Lane {
    Pair* pair = nullptr;
    Way way = Way::kToBroker;
    bufferevent* from = nullptr;
    bufferevent* to = nullptr;
    evbuffer* ready = nullptr;  // may be written
  };

  struct Pair {
    Proxy* proxy = nullptr;
    int number = 0;
    bufferevent* client = nullptr;
    bufferevent* broker = nullptr;
    std::array<Lane, 2> lanes;  // by way
    bool greeted = false;       // the client's protocol header has passed
    Lane* last = nullptr;       // closes once this has been written
  };

  Flow flow(Way way) const { return flows_[static_cast<std::size_t>(way)]; }

  void Accept(evutil_socket_t fd);
  void Close(Pair& pair);
  void ApplyFlow(Lane& lane);
  void OnReadable(Lane& lane);
  // Moves one frame from the read bytes to the writable bytes; false if there is no complete frame.
  bool TakeFrame(Lane& lane);
  // The same for the first `size` bytes; false if this ended the connection.
  bool Take(Lane& lane, const Phase& here, std::size_t size);
  void Write(Lane& lane);

  EventLoop& loop_;
  const std::uint16_t broker_port_;
  const std::optional<ReadAlong> read_along_;
  std::array<Flow, 2> flows_ = {Flow::kPass, Flow::kPass};
  std::optional<Phase> cut_at_;
  std::vector<std::unique_ptr<Pair>> pairs_;
  const LoopbackListener listener_;
};

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_SUPPORT_PROXY_H_
