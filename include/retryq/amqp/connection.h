#ifndef RETRYQ_AMQP_CONNECTION_H_
#define RETRYQ_AMQP_CONNECTION_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "retryq/amqp/channel.h"
#include "retryq/amqp/connection_options.h"
#include "retryq/duration.h"
#include "retryq/event_loop.h"
#include "retryq/export.h"

namespace retryq::amqp {

// Receives the events of a connection. All calls come on the loop's thread and never from inside a
// call to the connection; each may destroy the connection.
class RETRYQ_EXPORT ConnectionListener {
 public:
  virtual ~ConnectionListener() = default;

  // Channels can be opened from now on.
  virtual void OnOpen() = 0;

  // The connection was lost, or a round of attempts could connect to no endpoint. The listeners of
  // its channels are called after this. kUnauthenticated: wrong user or password.
  // kPermissionDenied: no right to the vhost. kNotFound: no such vhost. kInvalidArgument: the
  // options cannot be used, or the login does not fit into a frame. kUnavailable: everything else;
  // if the broker violates the protocol, the message names the frame. The connection tries again by
  // itself.
  virtual void OnLost(const absl::Status& why) = 0;

  // A resource alarm: the broker reads nothing until the alarm is over.
  virtual void OnBlocked(bool /*blocked*/, std::string_view /*reason*/) {}
};

// A connection to a RabbitMQ broker: AMQP 0-9-1 over TCP, never blocking. It connects at once,
// trying the endpoints in turn, and reconnects by itself whenever it is lost. After a refusal
// (password, vhost, a login that is too long) it waits for at least `reconnect_max`, so that it
// neither overloads a broker nor gets a user locked out.
//
// Data written in one turn of the loop is sent together. A peer that is silent for two heartbeat
// intervals counts as dead.
// Used on the loop's thread only; `loop` must outlive it. The guarantees for messages are
// documented at Channel.
class RETRYQ_EXPORT Connection {
 public:
  // While this many bytes are unsent, publishes are refused (see Channel::Publish). One message may
  // exceed it.
  static constexpr std::size_t kMaxUnsentBytes = std::size_t{64} << 20;

  // `listener` is not owned and must outlive the connection. `source` may be null.
  Connection(EventLoop& loop, ConnectionOptions options, ConnectionListener* listener,
             OptionsSource source = nullptr);
  // Sends connection.close without waiting for the reply. Listeners of channels are not called.
  // RabbitMQ may ignore data that was sent just before, including acks, because it stops reading at
  // once when a connection has ended: it then delivers these messages again. `Close` waits until
  // the broker has read everything.
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Closes the connection for good: sends pending data, then connection.close, and calls `closed`
  // when the broker has replied or `deadline` is over. The listener gets no more calls. May be
  // called again: each `closed` is called, and the earliest deadline applies.
  void Close(Duration deadline, std::function<void()> closed);

  bool is_open() const;

  // Gives up the current connection as if it were lost: sends connection.close without waiting for
  // the reply, and connects again. The listener gets `why`, which must not be ok, in a later turn.
  // Has no effect if there is no connection.
  void Reconnect(const absl::Status& why);

  // Reports that the connection has been useful: if it is lost, however soon, the next attempt is
  // made after the shortest pause.
  void RestartPauses();

  // Replaces the password, for example for a token that expires: at once for future connections,
  // and by connection.update-secret for the current one. `done` gets ok when the broker has
  // replied, or in a later turn if there is no connection; the error of the connection, if it is
  // lost first; kInvalidArgument, with nothing changed, if the secret does not fit into a frame or
  // contains NUL. It is dropped without being called if the connection is destroyed or closed.
  void UpdateSecret(std::string secret, std::function<void(absl::Status)> done);

  // Accumulates received data for as long as `leader` does (ConnectionOptions::read_coalescing).
  // Use this for two connections of one loop that each message passes one after the other: data
  // received on both is then handled in one turn. `leader` may be destroyed first; it must not
  // follow this connection.
  void FollowPaceOf(const Connection& leader);

  // Opens a new channel; `listener` must outlive it. If there is no connection, or no channel
  // number left, the channel is closed from the start, and the listener is called.
  std::unique_ptr<Channel> OpenChannel(ChannelListener* listener);

  // Largest payload of a content header frame that may be sent: the negotiated frame_max minus 8;
  // before the first connection, that of the options.
  std::size_t max_header_size() const;

  // "3.10.8"; the version of the last connection's broker, empty before the first.
  std::string server_version() const;

  // Bytes that were written, but that the operating system has not accepted yet.
  std::size_t unsent_bytes() const;

 private:
  class RETRYQ_NO_EXPORT Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_AMQP_CONNECTION_H_
