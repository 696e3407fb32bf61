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

// What a link reports. Each call but `BeforeFlush` may destroy the link.
class LinkOwner {
 public:
  virtual ~LinkOwner() = default;

  // TCP is there.
  virtual void OnConnected() = 0;
  // TLS is, after `Link::StartTls`.
  virtual void OnSecured() = 0;
  // Where what comes next goes, past `Link::input`; empty: nowhere but there. Asked before each
  // read, without TLS.
  virtual std::span<char> BodyRoom() = 0;
  // Something is in: so much there, and maybe more, see `Link::input`. Whether the link still is
  // and may read on.
  virtual bool OnInput(std::size_t body_size) = 0;
  // For as long as it was to gather, nothing has come: see `Link::Gather`.
  virtual void OnQuiet() = 0;
  // The turn ends: last chance to write something into its outbox.
  virtual void BeforeFlush() = 0;
  // Refused, reset or closed by the peer: `why` in the system's words.
  virtual void OnHungUp(const std::string& why) = 0;
  // TLS broke off, in the handshake or later; see `Explain` in tls_failure.h.
  virtual void OnTlsFailed(const absl::Status& why) = 0;
};

// A TCP connection that never blocks: what is in the outbox at the end of the loop's turn
// leaves in one go, and what has come is read in one go. TLS, where wanted, is a filter on top:
// what it makes of the outbox leaves by the same socket, so that both ways have one behaviour when
// the peer goes, or the link.
class Link {
 public:
  // Connects. `owner` must outlive it.
  Link(event_base* base, const SocketAddress& address, LinkOwner* owner);
  // What is written and still here is offered to the operating system once more.
  ~Link();

  // Begins to read, without TLS; or begins the TLS handshake. One of these, once, after
  // `OnConnected` and before anything is written. An error is one of TlsClient::Create.
  void StartPlain();
  absl::Status StartTls(const TlsContext& context, const std::string& host);

  // How long a packet and its acknowledgement took, by the handshake of TCP. To be asked after
  // `OnConnected`; infinite if the system does not say.
  absl::Duration RoundTrip() const;

  // Reads nothing more until told to: what is in is to be handled first, and the peer waits.
  void PauseReading();
  void ResumeReading();

  // What comes may gather for so long before it is read, from now on and after each `OnInput` and
  // `OnQuiet`, unless it is a lot. Ends on a tick: links of one loop whose pauses are as long, or
  // twice as long, …, are read in one turn. Zero: all is read as it comes. Without TLS; with it
  // nothing gathers.
  void Gather(absl::Duration pause);

  // Whether the messages that come are large. What is behind the end of a body is left in the
  // socket then, so that of the next body not much is read before it has its room. Without TLS.
  void ExpectLarge(bool large) { large_ = large; }

  // Write here; it is sent at the end of the turn.
  Outbox& Write();
  // Bytes not yet taken by the operating system, encrypted or not.
  std::size_t unsent() const;

  // What is in. Its handler holds on to it, as the link may go meanwhile.
  const std::shared_ptr<InputBuffer>& input() { return input_; }

 private:
  // Where the frames are: TLS, or the socket itself.
  bufferevent* top() const { return tls_stream_ != nullptr ? tls_stream_.get() : socket_.get(); }

  template <void (Link::*method)()>
  static void Call(evutil_socket_t, short, void* self);

  void OnReadable() { Read(/*at_tick=*/false); }
  void OnTick() { Read(/*at_tick=*/true); }
  void Read(bool at_tick);
  void OnNothingRead(int error, bool is_quiet);  // 0: the end
  void OnDecrypted();
  void OnTurnEnd();
  // Only behind BeforeFlush: what that would add must not wait for another write.
  void Flush();
  void OnEvent(short what);
  void OnTlsEvent(short what);

  const OwnProcess process_;
  LinkOwner* const owner_;
  const std::shared_ptr<InputBuffer> input_ = std::make_shared<InputBuffer>();
  Outbox outbox_;
  bool connected_ = false;  // by TCP
  bool flush_is_due_ = false;
  std::string failure_;  // of the connecting itself, to be told at the turn's end
  BufferEventPtr socket_;
  std::unique_ptr<TlsClient> tls_;  // null: none
  BufferEventPtr tls_stream_;       // reads and writes by socket_
  EventPtr readable_;               // null with TLS
  EventPtr tick_;                   // the end of the pause; null with TLS
  bool gathers_ = false;
  bool large_ = false;
  EventPtr flush_;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_TRANSPORT_LINK_H_
