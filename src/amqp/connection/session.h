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

// What a session reports. Each call may abandon it.
class SessionOwner {
 public:
  virtual ~SessionOwner() = default;

  virtual void OnSessionOpen() = 0;
  virtual void OnSessionBlocked(bool blocked, std::string_view reason) = 0;
  // It is over, or never came to be; the last call. Its channels are told right after.
  virtual void OnSessionEnded(const absl::Status& why) = 0;
};

// One connection to one address, from TCP's first packet to its end: handshake, heartbeats,
// and the frames' way to and from the channels. It never comes back; Connection makes another.
class Session final : public std::enable_shared_from_this<Session>,
                      public LinkOwner,
                      public ChannelHost {
 public:
  // `options`, `tls` (null: none) and `endpoint` must outlive it, and `owner` until it is
  // abandoned. `spent`: of the connection_timeout.
  Session(EventLoop& loop, const ConnectionOptions& options, const TlsContext* tls,
          const Endpoint& endpoint, const SocketAddress& address, absl::Duration spent,
          std::shared_ptr<ReadPace> pace, SessionOwner* owner);
  ~Session() override;

  bool is_open() const { return state_ == State::kOpen; }
  // From the broker's first answer on until it is open.
  bool is_shaking_hands() const {
    return state_ == State::kShakingHands && !server_version().empty();
  }

  // On an open session. Null where no number is left.
  std::shared_ptr<Channel::Impl> OpenChannel(ChannelListener* listener);

  // On an open session. `done` is called when the broker has answered, or with the end's error.
  void UpdateSecret(std::string_view secret, std::function<void(absl::Status)> done);

  // Says goodbye; `OnSessionEnded` comes with the broker's answer.
  void Close();

  // Says goodbye and ends like a connection that is lost, with this reason. On an open session.
  void GiveUp(const absl::Status& why);

  // Says goodbye and goes, without another call to anyone.
  void Abandon();

  // Zero: there is no limit.
  std::size_t channel_max() const { return handshake_.tuning().channel_max; }
  std::size_t frame_max() const override { return handshake_.tuning().frame_max; }
  const std::string& server_version() const { return handshake_.server_version(); }
  std::size_t unsent_bytes() const override { return link_ == nullptr ? 0 : link_->unsent(); }

 private:
  enum class State {
    kConnecting,  // no TCP yet
    kSecuring,    // no TLS yet
    kShakingHands,
    kOpen,
    kClosing,  // we have said goodbye: all but the answer is passed over
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

  // What a frame may take now.
  std::size_t frame_limit() const;

  // Null if it is not open.
  Channel::Impl* FindChannel(std::uint16_t number) const;

  // The payload of a large body frame does not wait in the input until it is whole: what is there
  // goes into the message, and so does what comes next. The input begins with a frame of what is
  // still to come of it, all the while.
  void TakeLargeBody(InputBuffer& input);
  // The head at the front of the input, if it is of a body frame and the session takes any.
  std::optional<FrameHead> FrontBody(const InputBuffer& input) const;
  // For that payload, in the message that it belongs to; empty if in none.
  std::span<char> BodyRoom(const FrameHead& head) const;
  // So much of its payload is in the message, where `copied` from the input behind it.
  void OnBodyTaken(InputBuffer& input, const FrameHead& head, std::size_t size, bool copied);

  void HandleInput();
  // Handles the whole frames at the front of `bytes`; how much of it they were. Of many that take
  // long some are left for another turn of the loop.
  std::size_t HandleFrames(std::string_view bytes);
  // The rest of what is in is handled then, and nothing is read before.
  void HandleRestAfter(absl::Duration pause);
  // Whether the part of a body can go nowhere for now: see BodySink.
  bool MustWait(const FrameView& frame) const;
  // Says how long what comes next may gather.
  void SetPace();
  absl::Status OnFrame(const FrameView& frame);
  absl::Status OnMethod(const ServerMethod& method);
  absl::Status OnChannelFrame(const FrameView& frame);
  absl::Status OnChannelMethod(Channel::Impl& channel, std::string_view payload);
  absl::Status OnHandshakeMethod(const ServerMethod& method);

  void ShakeHands();
  // Gives this step of the connecting so long, of which `spent` is over; `why` says what the peer
  // failed to do.
  void EndAfter(absl::Duration limit, const char* why, absl::Duration spent = absl::ZeroDuration());
  // The frame at the front of `bytes` breaks the protocol: ends its channel or all.
  void OnBreach(std::string_view bytes, const absl::Status& error);

  void SayGoodbye(const method::ConnectionClose& close);
  // `code`: what the broker says of what was sent; 0: nothing.
  void End(const absl::Status& why, std::uint16_t code = 0);
  // Stops everything, and says which channels there were.
  std::vector<std::shared_ptr<Channel::Impl>> Dismantle();

  EventLoop& loop_;
  const ConnectionOptions& options_;
  const TlsContext* const tls_;  // null: none
  const Endpoint& endpoint_;
  SessionOwner* owner_;
  State state_ = State::kConnecting;
  Handshake handshake_;
  std::unique_ptr<Link> link_;       // null once ended
  std::unique_ptr<Timer> deadline_;  // of the current step of connecting
  const std::shared_ptr<ReadPace> pace_;
  std::size_t handled_bytes_ = 0;  // since `SetPace`
  EventPtr handle_rest_;           // of what is in; null once ended
  bool rest_is_due_ = false;
  std::optional<Heartbeat> heartbeat_;                   // once open
  Ring<std::function<void(absl::Status)>> new_secrets_;  // not answered yet
  std::vector<std::shared_ptr<Channel::Impl>>
      channels_;  // by number; null where free; kept at the end
};

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_CONNECTION_SESSION_H_
