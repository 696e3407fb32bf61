#ifndef RETRYQ_SRC_AMQP_TRANSPORT_LINK_H_
#define RETRYQ_SRC_AMQP_TRANSPORT_LINK_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "amqp/transport/input_buffer.h"
#include "amqp/transport/outbox.h"
#include "amqp/transport/resolver.h"
#include "amqp/transport/tls_client.h"
#include "amqp/transport/tls_context.h"
#include "loop/libevent_ptr.h"
#include "loop/own_process.h"

namespace retryq::amqp {

// The callbacks of a link. Each of them except `BeforeFlush` may destroy the link.
class LinkOwner {
 public:
  virtual ~LinkOwner() = default;

  // TCP is connected.
  virtual void OnConnected() = 0;
  // The TLS handshake is complete, after `Link::StartTls`.
  virtual void OnSecured() = 0;
  // Returns the space for the next data, if the data does not belong in `Link::input`; otherwise
  // empty. Called before each read, except with TLS.
  virtual std::span<char> BodyRoom() = 0;
  // Data has arrived: `body_size` bytes in the space of `BodyRoom`, the rest in `Link::input`.
  // Returns whether the link still exists and may continue to read.
  virtual bool OnInput(std::size_t body_size) = 0;
  // No data has arrived during the pause: see `Link::Gather`.
  virtual void OnQuiet() = 0;
  // The turn ends: the last opportunity to write to its outbox.
  virtual void BeforeFlush() = 0;
  // The peer has refused, reset or closed the connection: `why` is the system's text.
  virtual void OnHungUp(const std::string& why) = 0;
  // TLS failed, in the handshake or later; see `Explain` in tls_failure.h.
  virtual void OnTlsFailed(const absl::Status& why) = 0;
};

// A TCP connection that never blocks. The outbox is sent at the end of the loop's turn, and
// received data is read at once. TLS, if used, is a filter on top: its output leaves by the same
// socket, so that a connection behaves the same with and without it when the peer or the link
// closes it.
class Link {
 public:
  // Connects. `owner` must outlive it.
  Link(event_base* base, const SocketAddress& address, LinkOwner* owner);
  // Tries to write unsent data again.
  ~Link();

  // Begin to read without TLS, or begin the TLS handshake. Call one of them once, after
  // `OnConnected` and before anything is written. Errors are those of TlsClient::Create.
  void StartPlain();
  absl::Status StartTls(const TlsContext& context, const std::string& host);

  // Returns how long a packet and its acknowledgement took in the TCP handshake; infinite if the
  // system does not report it. Valid after `OnConnected`.
  absl::Duration RoundTrip() const;

  // Stops reading until `ResumeReading`, so that received data is handled first; the peer waits.
  void PauseReading();
  void ResumeReading();

  // From now on, and after each `OnInput` and `OnQuiet`, data may accumulate for `pause` before it
  // is read, unless much data arrives. The pause ends on a tick: links of one loop whose pauses are
  // equal, or multiples of each other by two, are read in one turn. Zero: data is read as it
  // arrives. With TLS, data never accumulates.
  void Gather(absl::Duration pause);

  // Whether arriving messages are large. Data after the end of a body is then left in the socket,
  // so that little of the next body is read before there is space for it. Not used with TLS.
  void ExpectLarge(bool large) { large_ = large; }

  // Returns the outbox, which is sent at the end of the turn.
  Outbox& Write();
  // Number of bytes that the operating system has not accepted yet, encrypted or not.
  std::size_t unsent() const;

  // The received data. Its handler keeps a reference, because the link may be destroyed meanwhile.
  const std::shared_ptr<InputBuffer>& input() { return input_; }

 private:
  // The stream that carries the frames: TLS, or the socket itself.
  bufferevent* top() const { return tls_stream_ != nullptr ? tls_stream_.get() : socket_.get(); }

  template <void (Link::*method)()>
  static void Call(evutil_socket_t, short, void* self);

  void OnReadable() { Read(/*at_tick=*/false); }
  void OnTick() { Read(/*at_tick=*/true); }
  void Read(bool at_tick);
  void OnNothingRead(int error, bool is_quiet);  // 0: end of the stream
  void OnDecrypted();
  void OnTurnEnd();
  // Only after BeforeFlush, whose data must not wait for another write.
  void Flush();
  void OnEvent(short what);
  void OnTlsEvent(short what);

  const OwnProcess process_;
  LinkOwner* const owner_;
  const std::shared_ptr<InputBuffer> input_ = std::make_shared<InputBuffer>();
  Outbox outbox_;
  bool connected_ = false;  // by TCP
  bool flush_is_due_ = false;
  bool output_waits_ = false;  // whether libevent may have output; false only if it has none
  std::string failure_;        // of connecting, reported at the end of the turn
  BufferEventPtr socket_;
  std::unique_ptr<TlsClient> tls_;  // null without TLS
  BufferEventPtr tls_stream_;       // reads and writes by socket_
  EventPtr readable_;               // null with TLS
  EventPtr tick_;                   // end of the pause; null with TLS
  bool gathers_ = false;
  bool large_ = false;
  EventPtr flush_;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_TRANSPORT_LINK_H_
