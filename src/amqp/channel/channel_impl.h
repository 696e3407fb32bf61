#ifndef RETRYQ_SRC_AMQP_CHANNEL_CHANNEL_IMPL_H_
#define RETRYQ_SRC_AMQP_CHANNEL_CHANNEL_IMPL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "amqp/channel/ack_coalescer.h"
#include "amqp/channel/incoming_content.h"
#include "amqp/channel/publish_confirms.h"
#include "amqp/channel/reply_status.h"
#include "amqp/codec/frame.h"
#include "amqp/codec/methods.h"
#include "amqp/codec/wire.h"
#include "amqp/transport/outbox.h"
#include "amqp/transport/read_pace.h"
#include "amqp/transport/ring.h"
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
  // Opens it. `host` must stay until `Cut`.
  static std::shared_ptr<Impl> Open(ChannelHost* host, std::uint16_t number,
                                    ChannelListener* listener, std::shared_ptr<Executor> executor);
  // One that is closed from the start.
  static std::shared_ptr<Impl> Closed(absl::Status why, ChannelListener* listener,
                                      std::shared_ptr<Executor> executor);
  Impl(ChannelHost* host, std::uint16_t number, ChannelListener* listener,
       std::shared_ptr<Executor> executor);

  // ---- from the connection

  // Frames of this channel. An error is a ProtocolError and ends the connection, or this channel
  // if `EndsChannelOnly`. Both call out; the caller must hold on to this meanwhile.
  absl::Status OnMethod(const ServerMethod& method);
  absl::Status OnMethod(const method::BasicDeliver& deliver);
  absl::Status OnMethod(const method::BasicAck& ack);
  absl::Status OnContent(const FrameView& frame);

  // For a part of a body frame of which so much is still to come: see IncomingContent.
  std::span<char> BodyRoom(std::size_t rest) {
    return is_open() ? incoming_.Room(rest) : std::span<char>();
  }
  void BodyAdded(std::size_t size) { incoming_.Added(size); }
  // Whether no more of a body may come for now: see BodySink.
  bool IsFull() const { return is_open() && incoming_.IsFull(); }

  // Closes the channel over a breach of the protocol.
  void Break(const method::ChannelClose& close);

  // The connection is gone: nothing is written from now on. `Disconnect` follows, which tells.
  void Cut(const absl::Status& why);
  // `code`: what the broker says of what was sent on it; 0: nothing.
  void Disconnect(const absl::Status& why, std::uint16_t code);
  // The connection is gone, and nobody is told.
  void Orphan();

  // What has come since this was last asked.
  Arrivals TakeArrivals();

  // Writes the acks of this turn.
  void FlushAcks();
  // Writes that all which is unsettled goes back.
  void GiveBackAll();

  // Closed on both ends: the number is free.
  bool finished() const { return state_ == State::kFinished; }

  // ---- from the user's end

  // The user's end goes: no calls from now on.
  void Detach();
  // The same except for `closed`.
  void Close(std::function<void()> closed);

  bool is_open() const { return state_ == State::kOpen; }
  std::uint64_t generation() const { return generation_; }
  std::size_t unconfirmed() const { return confirms_.size(); }

  // What the broker answers with, or why it does not; valid during the call.
  using OnReply = std::function<void(absl::StatusOr<const ServerMethod*>)>;

  // Sends `method`, to be answered by a `Reply`. `what` is being done, for error messages.
  template <typename Reply, typename Method>
  // NOLINTNEXTLINE(performance-unnecessary-value-param): clang-tidy sees no std::move in a template
  void Call(const Method& method, std::string what, OnReply done) {
    if (!is_open()) return Refuse(WithContext(what, closed_why_), std::move(done));
    if (!NamesFit(method)) {
      return Refuse(absl::InvalidArgumentError(what + ": a name is longer than 255 bytes"),
                    std::move(done));
    }
    if constexpr (requires { method.arguments; }) {
      if (absl::Status fit = CheckArguments(method.arguments); !fit.ok()) {
        return Refuse(WithContext(what, fit), std::move(done));
      }
    }
    host_->Write().AddMethod(number_, method);
    if constexpr (std::is_same_v<Method, method::BasicConsume>) {
      AddConsumer(method.consumer_tag);
      starting_.emplace_back(method.consumer_tag);
    }
    if constexpr (std::is_same_v<Method, method::BasicQos>) prefetch_ = method.prefetch_count;
    calls_.push_back({.reply = Reply::kId, .what = std::move(what), .done = std::move(done)});
  }
  // Whether they can be sent: what cannot would close the connection.
  absl::Status CheckArguments(TableView arguments) const;
  // Answers, later, a call that is not sent.
  void Refuse(absl::Status why, OnReply done);

  // Of deliveries from now on; 0: as large as they may be.
  void LimitBodies(std::uint64_t limit) { max_body_ = limit == 0 ? kMaxBodySize : limit; }

  // `to_come`: bytes of the body that `AddBody` adds to that of `params`.
  void Publish(const PublishParams& params, PublishConfirms::Callback done,
               std::uint64_t to_come = 0);
  void AddBody(std::string_view part);
  void Ack(std::uint64_t tag);
  void Reject(std::uint64_t tag, bool requeue);

 private:
  enum class State {
    kOpen,
    kClosing,   // we have sent channel.close: all but its answer is passed over
    kCut,       // the connection is gone, which is not told yet
    kFinished,  // closed on both ends, or the connection is gone
  };

  // What the broker owes an answer.
  struct OpenCall {
    method::Id reply;
    std::string what;
    OnReply done;
  };

  // The broker's words on a message that could not be routed, before the message itself.
  struct Returned {
    std::uint16_t code = 0;
    std::string text;
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

  // In a later turn.
  void FinishLater();
  // Both ends are closed: the last call.
  void Finish();

  // Runs `work` in a later turn, if the user's end is still there then.
  void Defer(std::function<void(Impl&)> work);

  // Whether a method that comes now is out of place.
  absl::Status CheckBetweenMessages() const;
  absl::Status OnMethodWhileClosing(const ServerMethod& method);
  absl::Status OnAnswer(const ServerMethod& method, const method::Id& id);
  absl::Status OnClose(const method::ChannelClose& close);
  absl::Status OnAck(const method::BasicAck& ack);
  absl::Status OnSettled(std::uint64_t tag, bool multiple, PublishOutcome outcome);
  absl::Status OnCancel(const method::BasicCancel& cancel);
  absl::Status OnFlow(const method::ChannelFlow& flow);
  absl::Status OnDeliver(const method::BasicDeliver& deliver);
  absl::Status OnReturn(const method::BasicReturn& returned);
  absl::Status OnReturned(const Message& message, const Returned& returned);
  absl::Status OnDelivered(std::shared_ptr<Message> message);

  // Quorum queues may deliver ahead of consume-ok, so a consumer counts from the asking on.
  void AddConsumer(std::string_view consumer_tag);
  bool Consumes(std::string_view consumer_tag) const;

  // The broker makes us say something. An error if it asks for more and more and reads nothing.
  absl::Status CountForcedAnswer();

  // Answers all that is open, then tells the listener. `state_` is no longer kOpen.
  void Fail(const ChannelError& error, std::string_view text);

  ChannelHost* host_;  // null once cut
  const std::uint16_t number_;
  const std::uint64_t generation_;
  ChannelListener* listener_;  // null once detached
  const std::shared_ptr<Executor> executor_;
  State state_ = State::kOpen;
  absl::Status closed_why_;
  std::vector<std::function<void()>> closed_;  // what `Close` shall call
  bool detached_ = false;                      // nobody is to be called any more

  Ring<OpenCall> calls_;
  PublishConfirms confirms_;
  // Tags, from the asking (or the answer, if the broker chooses one) until cancel-ok or
  // basic.cancel.
  std::vector<std::string> consumers_;
  std::vector<std::string> starting_;   // of these, before the answer
  std::vector<std::string> cancelled_;  // by the broker
  AckCoalescer acks_;
  std::size_t prefetch_ = 0;  // 0: no limit
  int forced_answers_ = 0;    // since all that was written was last taken

  // Since `TakeArrivals`.
  std::size_t delivered_ = 0;
  std::size_t answers_ = 0;  // to calls_

  // The message that is arriving, and what announced it.
  IncomingContent incoming_;
  std::uint64_t max_body_ = kMaxBodySize;
  std::string consumer_tag_;          // of a delivery
  std::optional<Returned> returned_;  // set while a returned message arrives
  bool adds_bodies_ = false;          // has published so: a return's body may be of any size
};

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_CHANNEL_CHANNEL_IMPL_H_
