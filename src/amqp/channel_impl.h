#ifndef RETRYQ_SRC_AMQP_CHANNEL_IMPL_H_
#define RETRYQ_SRC_AMQP_CHANNEL_IMPL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "amqp/ack_coalescer.h"
#include "amqp/frame.h"
#include "amqp/incoming_content.h"
#include "amqp/methods.h"
#include "amqp/outbox.h"
#include "amqp/publish_confirms.h"
#include "amqp/reply_status.h"
#include "amqp/ring.h"
#include "amqp/wire.h"
#include "retryq/amqp/channel.h"
#include "retryq/executor.h"

namespace retryq::amqp {

// What a channel needs of its connection.
class ChannelHost {
 public:
  virtual ~ChannelHost() = default;

  // Where to write: what is there at the end of the loop's turn is sent. `FlushAcks` is
  // called before.
  virtual Outbox& Write() = 0;
  virtual std::size_t frame_max() const = 0;
  // Written, by whichever channel, and not yet taken by the operating system.
  virtual std::size_t unsent_bytes() const = 0;
};

// The protocol of one channel. The connection keeps it from channel.open to close-ok; the
// Channel, which is the user's end of it, may go earlier.
class Channel::Impl : public std::enable_shared_from_this<Channel::Impl> {
 public:
  // Opens it. `host` must stay until `Disconnect`.
  static std::shared_ptr<Impl> Open(ChannelHost* host, std::uint16_t number,
                                    ChannelListener* listener, std::shared_ptr<Executor> executor);
  // One that is closed from the start.
  static std::shared_ptr<Impl> Closed(absl::Status why, ChannelListener* listener,
                                      std::shared_ptr<Executor> executor);
  Impl(ChannelHost* host, std::uint16_t number, ChannelListener* listener,
       std::shared_ptr<Executor> executor);

  // ---- from the connection

  // Frames of this channel. An error is a ProtocolError and ends the connection. Both call
  // out; the caller must hold on to this meanwhile.
  absl::Status OnMethod(const ServerMethod& method);
  absl::Status OnContent(const FrameView& frame);

  // The connection is gone, and with `Orphan` nobody is told.
  void Disconnect(const absl::Status& why);
  void Orphan();

  // Writes the acks of this turn.
  void FlushAcks();

  // Closed on both ends: the number is free.
  bool finished() const { return state_ == State::kFinished; }

  // ---- from the user's end

  // The user's end goes: no calls from now on.
  void Detach();
  // The same but for `closed`.
  void Close(std::function<void()> closed);

  bool is_open() const { return state_ == State::kOpen; }
  std::uint64_t generation() const { return generation_; }
  std::size_t unconfirmed() const { return confirms_.size(); }

  // What the broker answers with, or why it does not; valid during the call.
  using OnReply = std::function<void(absl::StatusOr<const ServerMethod*>)>;

  // Sends `method`, to be answered by a `Reply`. `what` is being done, for error messages.
  template <typename Reply, typename Method>
  void Call(const Method& method, std::string what, OnReply done) {
    if (!is_open()) return Refuse(WithContext(what, closed_why_), std::move(done));
    if (!NamesFit(method)) {
      return Refuse(absl::InvalidArgumentError(what + ": a name is longer than 255 bytes"),
                    std::move(done));
    }
    host_->Write().AddMethod(number_, method);
    calls_.push_back({.reply = Reply::kId, .what = std::move(what), .done = std::move(done)});
  }
  // Answers, later, a call that is not sent.
  void Refuse(absl::Status why, OnReply done);

  void Publish(const PublishParams& params, PublishConfirms::Callback done);
  void Ack(std::uint64_t tag);
  void Reject(std::uint64_t tag, bool requeue);

 private:
  enum class State {
    kOpen,
    kClosing,   // we have sent channel.close
    kFinished,  // closed on both ends, or the connection is gone
  };

  // What the broker owes an answer.
  struct OpenCall {
    method::Id reply;
    std::string what;
    OnReply done;
  };

  // Whether all its short strings, which are names, can be encoded.
  template <typename Method>
  static bool NamesFit(const Method& method) {
    if constexpr (requires { Method::Fields(method); }) {
      const auto fits = [](const auto& field) {
        if constexpr (std::is_same_v<std::decay_t<decltype(field)>, std::string_view>) {
          return field.size() <= kMaxShortString;
        } else {
          return true;
        }
      };
      return std::apply([&](const auto&... fields) { return (fits(fields) && ...); },
                        Method::Fields(method));
    } else {
      return true;
    }
  }

  // Both ends are closed: the last call.
  void Finish();

  // Runs `work` in a later turn, if the user's end is still there then.
  void Defer(std::function<void(Impl&)> work);

  absl::Status OnAnswer(const ServerMethod& method, const method::Id& id);
  absl::Status OnClose(const method::ChannelClose& close);
  absl::Status OnDeliver(const method::BasicDeliver& deliver);
  absl::Status OnReturn(const method::BasicReturn& returned);
  void OnWholeContent(std::shared_ptr<Message> message);

  // Answers all that is open, then tells the listener. The state is kFinished.
  void Fail(const ChannelError& error, std::string_view text);

  ChannelHost* host_;  // null once disconnected
  const std::uint16_t number_;
  const std::uint64_t generation_;
  ChannelListener* listener_;  // null once detached
  const std::shared_ptr<Executor> executor_;
  State state_ = State::kOpen;
  absl::Status closed_why_;
  std::function<void()> closed_;  // what `Close` shall call

  Ring<OpenCall> calls_;
  PublishConfirms confirms_;
  AckCoalescer acks_;

  // The message that is arriving, and what announced it.
  IncomingContent incoming_;
  std::string consumer_tag_;  // of a delivery
  struct Returned {
    std::uint16_t code = 0;
    std::string text;
  };
  std::optional<Returned> returned_;  // set while a returned message arrives
};

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_CHANNEL_IMPL_H_
