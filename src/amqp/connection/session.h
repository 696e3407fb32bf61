#ifndef RETRYQ_SRC_AMQP_CONNECTION_SESSION_H_
#define RETRYQ_SRC_AMQP_CONNECTION_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "amqp/channel/channel_impl.h"
#include "amqp/codec/frame.h"
#include "amqp/codec/method_codec.h"
#include "amqp/connection/handshake.h"
#include "amqp/connection/heartbeat.h"
#include "amqp/transport/link.h"
#include "amqp/transport/read_pace.h"
#include "amqp/transport/ring.h"
#include "loop/libevent_ptr.h"
#include "retryq/amqp/connection_options.h"
#include "retryq/event_loop.h"

namespace retryq::amqp {

// The callbacks of a session. Each of them may abandon it.
class SessionOwner {
 public:
  virtual ~SessionOwner() = default;

  virtual void OnSessionOpen() = 0;
  virtual void OnSessionBlocked(bool blocked, std::string_view reason) = 0;
  // The session has ended, or was never opened. This is the last call; the channels are informed
  // after it.
  virtual void OnSessionEnded(const absl::Status& why) = 0;
};

// One connection to one address, from the first packet of TCP to its end: handshake, heartbeats,
// and the frames to and from the channels. It does not reconnect: Connection makes another session.
class Session final : public std::enable_shared_from_this<Session>,
                      public LinkOwner,
                      public ChannelHost {
 public:
  // `options`, `tls` (null for none) and `endpoint` must outlive it; `owner` must live until it is
  // abandoned. `spent`: the part of connection_timeout that has passed.
  Session(EventLoop& loop, const ConnectionOptions& options, const TlsContext* tls,
          const Endpoint& endpoint, const SocketAddress& address, absl::Duration spent,
          std::shared_ptr<ReadPace> pace, SessionOwner* owner);
  ~Session() override;

  bool is_open() const { return state_ == State::kOpen; }
  // Whether TCP is connected and the connection is not open yet.
  bool is_shaking_hands() const { return state_ == State::kShakingHands; }
  bool has_heard_broker() const { return handshake_.has_begun(); }

  // Opens a channel on an open session. Returns null if no channel number is left.
  std::shared_ptr<Channel::Impl> OpenChannel(ChannelListener* listener);

  // Sends connection.update-secret on an open session. `done` is called with the broker's reply, or
  // with the error that ends the session.
  void UpdateSecret(std::string_view secret, std::function<void(absl::Status)> done);

  // Sends connection.close; `OnSessionEnded` follows with the broker's reply.
  void Close();

  // Sends connection.close, and ends as if the connection were lost for this reason. On an open
  // session.
  void GiveUp(const absl::Status& why);

  // Sends connection.close and ends, without further callbacks.
  void Abandon();

  // Zero: unlimited.
  std::size_t channel_max() const { return handshake_.tuning().channel_max; }
  std::size_t frame_max() const override { return handshake_.tuning().frame_max; }
  const std::string& vhost() const override { return options_.vhost; }
  const std::string& server_version() const { return handshake_.server_version(); }
  std::size_t unsent_bytes() const override { return link_ == nullptr ? 0 : link_->unsent(); }

 private:
  enum class State {
    kConnecting,  // TCP is not connected yet
    kSecuring,    // TLS is not set up yet
    kShakingHands,
    kOpen,
    kClosing,  // connection.close was sent; everything but the reply is ignored
    kEnded,
  };

  // LinkOwner
  void OnConnected() override;
  void OnSecured() override;
  std::span<char> BodyRoom() override;
  bool OnInput(std::size_t body_size) override;
  void OnQuiet() override { SetPace(); }
  void BeforeFlush() override;
  void OnHungUp(const std::string& why) override;
  void OnTlsFailed(const absl::Status& why) override;

  // ChannelHost
  Outbox& Write() override;

  // The current limit for received frames.
  std::size_t frame_limit() const;

  // Returns null if the channel is not open.
  Channel::Impl* FindChannel(std::uint16_t number) const;

  // Moves the payload of a large body frame to its message without waiting for the whole frame:
  // first the bytes in the input, then the bytes that arrive next. Meanwhile the input begins with
  // a frame head for the missing rest.
  void TakeLargeBody(InputBuffer& input);
  // Returns the head at the front of the input, if it belongs to a body frame and the session is
  // open.
  std::optional<FrameHead> FrontBody(const InputBuffer& input) const;
  // Returns the space for that payload in its message; empty if it has none.
  std::span<char> BodyRoom(const FrameHead& head) const;
  // Call it after `size` bytes of the payload were written to the message; `copied` if they came
  // from the input.
  void OnBodyTaken(InputBuffer& input, const FrameHead& head, std::size_t size, bool copied);

  void HandleInput();
  // Handles the whole frames at the front of `bytes`, and returns their size. If that takes long,
  // some frames are left for another turn of the loop.
  std::size_t HandleFrames(std::string_view bytes);
  // Handles the rest of the input after `pause`, and does not read before.
  void HandleRestAfter(absl::Duration pause);
  // Sets how long the next data may accumulate.
  void SetPace();
  absl::Status OnConnectionFrame(const FrameView& frame);
  absl::Status OnMethod(const ServerMethod& method);
  absl::Status OnFrameWithoutChannel(const FrameView& frame);
  absl::Status OnChannelMethod(const FrameView& frame, Channel::Impl& channel);
  absl::Status OnHandshakeMethod(const ServerMethod& method);

  void ShakeHands();
  // Limits the time of this step of connecting, of which `spent` has passed. `why` states which
  // action of the peer is missing.
  void EndAfter(absl::Duration limit, const char* why, absl::Duration spent = absl::ZeroDuration());
  // The frame at the front of `bytes` violates the protocol: closes its channel or the connection.
  void OnProtocolError(std::string_view bytes, const absl::Status& error);

  void SendClose(const method::ConnectionClose& close);
  // `code`: the broker's reply code if it closed the connection because of what was sent; else 0.
  void End(const absl::Status& why, std::uint16_t code = 0);
  // Stops everything, and returns the channels that existed.
  std::vector<std::shared_ptr<Channel::Impl>> TakeChannels();

  EventLoop& loop_;
  const ConnectionOptions& options_;
  const TlsContext* const tls_;  // null for none
  const Endpoint& endpoint_;
  SessionOwner* owner_;
  State state_ = State::kConnecting;
  Handshake handshake_;
  std::unique_ptr<Link> link_;       // null once ended
  std::unique_ptr<Timer> deadline_;  // of the current step of connecting
  const std::shared_ptr<ReadPace> pace_;
  std::size_t handled_bytes_ = 0;  // since `SetPace`
  EventPtr handle_rest_;           // handles the rest of the input; null once ended
  bool rest_is_due_ = false;
  std::optional<Heartbeat> heartbeat_;                   // once open
  Ring<std::function<void(absl::Status)>> new_secrets_;  // not answered yet
  std::vector<std::shared_ptr<Channel::Impl>>
      channels_;  // by number; null if free; kept at the end
};

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_CONNECTION_SESSION_H_
