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
#include "retryq/event_loop.h"
#include "retryq/export.h"

namespace retryq::amqp {

// What a connection reports. All calls come on the loop's thread and never from
// inside a call to the connection, which each of them may destroy.
class RETRYQ_EXPORT ConnectionListener {
 public:
  virtual ~ConnectionListener() = default;

  // Channels can be opened from now on.
  virtual void OnOpen() = 0;

  // The connection is gone, or none of the endpoints gave one. Its channels are told after
  // this call. kUnauthenticated: wrong user or password. kPermissionDenied: no right to the
  // vhost. kNotFound: no such vhost. kInvalidArgument: the options cannot be used, or the login
  // does not fit into a frame. kUnavailable: all else; where the broker breaks the protocol, the
  // message names the frame. Another attempt follows by itself.
  virtual void OnLost(const absl::Status& why) = 0;

  // A resource alarm: the broker reads nothing until it is over.
  virtual void OnBlocked(bool /*blocked*/, std::string_view /*reason*/) {}
};

// A connection to a RabbitMQ broker: AMQP 0-9-1 over TCP, never blocking. Connects at
// once, to the endpoints in turn, and again by itself whenever it is lost; after a refusal
// (password, vhost, a login that is too long) not before `reconnect_max`, so that nobody is
// hammered or locked out.
//
// What is written in one turn of the loop leaves together. A peer that is silent for
// two heartbeat intervals is taken for dead.
// Used on the loop's thread only; `loop` must outlive it. What is guaranteed of messages is told at
// Channel.
class RETRYQ_EXPORT Connection {
 public:
  // With so many bytes unsent nothing more is published (see Channel::Publish). One message may
  // exceed it.
  static constexpr std::size_t kMaxUnsentBytes = std::size_t{64} << 20;

  // `listener` is not owned and must outlive the connection. `source` may be null.
  Connection(EventLoop& loop, ConnectionOptions options, ConnectionListener* listener,
             OptionsSource source = nullptr);
  // Says goodbye to the broker without waiting for its answer. Channels are not told. RabbitMQ may
  // pass over what was said right before, acks included, as it stops at once when it sees that a
  // connection has ended: it then delivers again. `Close` waits until all has been heard.
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Closes for good: sends what is written, then connection.close, and calls `closed` when
  // the broker has answered or `deadline` is over. The listener hears no more. May be called again:
  // each `closed` is called, and the earliest deadline applies.
  void Close(absl::Duration deadline, std::function<void()> closed);

  bool is_open() const;

  // Gives up the connection there is, as if it were lost: says goodbye without waiting for the
  // answer, and connects again. The listener hears `why`, which must not be ok, in a later turn.
  // Nothing happens where there is no connection.
  void Reconnect(const absl::Status& why);

  // The connection has been of use: if it is lost, another attempt is made after the first pause,
  // however soon that is.
  void RestartPauses();

  // Replaces the password, as for a token that expires: at once for the connections to come, and
  // by connection.update-secret for the one there is. `done` gets ok when the broker has
  // answered, or in a later turn where there is no connection; the error with which the
  // connection goes, if it does so first; kInvalidArgument, with nothing changed, where the secret
  // does not fit into a frame or contains NUL. It is dropped uncalled if the connection is
  // destroyed or closed.
  void UpdateSecret(std::string secret, std::function<void(absl::Status)> done);

  // Gathers what comes for as long as `leader` does (ConnectionOptions::read_coalescing): for two
  // connections of one loop over which messages go in turn, as what comes in on both is then
  // handled in one. `leader` may go earlier; it must not follow this one.
  void FollowPaceOf(const Connection& leader);

  // A new channel; `listener` must outlive it. Where there is no connection, or no channel
  // number left, the channel is closed from the start, which the listener hears.
  std::unique_ptr<Channel> OpenChannel(ChannelListener* listener);

  // Largest payload of a content header frame that may be sent: the agreed frame_max less
  // 8; what the options ask for before the first connection.
  std::size_t max_header_size() const;

  // "3.10.8"; of the last connection, empty before the first.
  std::string server_version() const;

  // Bytes written and not yet taken by the operating system.
  std::size_t unsent_bytes() const;

 private:
  class RETRYQ_NO_EXPORT Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_AMQP_CONNECTION_H_
