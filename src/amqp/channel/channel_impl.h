#ifndef RETRYQ_SRC_AMQP_CHANNEL_CHANNEL_IMPL_H_
#define RETRYQ_SRC_AMQP_CHANNEL_CHANNEL_IMPL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
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
#include "base/name_size.h"
#include "base/utf8.h"
#include "retryq/amqp/channel.h"
#include "retryq/broker/executor.h"

namespace retryq::amqp {

// The functions of a connection that its channels use.
class ChannelHost {
 public:
  virtual ~ChannelHost() = default;

  // Returns the outbox to write to. Its content is sent at the end of the loop's turn, after a call
  // of `FlushAcks`.
  virtual Outbox& Write() = 0;
  virtual std::size_t frame_max() const = 0;
  virtual const std::string& vhost() const = 0;
  // Bytes written by all channels that the operating system has not accepted yet.
  virtual std::size_t unsent_bytes() const = 0;
};

// The protocol of one channel. The connection keeps it from channel.open to close-ok. The Channel,
// which is the user's object, may be destroyed earlier.
class Channel::Impl : public std::enable_shared_from_this<Channel::Impl> {
 public:
  // Opens a channel. `host` must live until `Cut`.
  static std::shared_ptr<Impl> Open(ChannelHost* host, std::uint16_t number,
                                    ChannelListener* listener, std::shared_ptr<Executor> executor);
  // Returns a channel that is closed from the start.
  static std::shared_ptr<Impl> Closed(absl::Status why, ChannelListener* listener,
                                      std::shared_ptr<Executor> executor);
  Impl(ChannelHost* host, std::uint16_t number, ChannelListener* listener,
       std::shared_ptr<Executor> executor);

  // ---- Called by the connection

  // Handle frames of this channel. An error is a ProtocolError; it ends the connection or, if
  // `EndsChannelOnly`, this channel. They call callbacks, so the caller must keep a reference to
  // this.
  absl::Status OnMethod(const ServerMethod& method);
  absl::Status OnMethod(const method::BasicDeliver& deliver);
  absl::Status OnMethod(const method::BasicAck& ack);
  absl::Status OnContent(const FrameView& frame);

  // For a body frame of which `rest` bytes have not arrived yet: see IncomingContent.
  std::span<char> BodyRoom(std::size_t rest) {
    return is_open() ? incoming_.Room(rest) : std::span<char>();
  }
  void BodyAdded(std::size_t size) { incoming_.Added(size); }
  // Whether the sink of a body cannot accept data now: see BodySink.
  bool IsFull() const { return is_open() && incoming_.IsFull(); }

  // Closes the channel because the broker violated the protocol.
  void Break(const method::ChannelClose& close);

  // The connection is lost: nothing is written from now on. `Disconnect` follows, which reports it.
  void Cut(const absl::Status& why);
  // `code`: the broker's reply code if it closed the connection because of what was sent; else 0.
  void Disconnect(const absl::Status& why, std::uint16_t code);
  // The connection is gone; no callbacks are called.
  void Discard();

  // Returns the arrivals since the last call.
  Arrivals TakeArrivals();

  // Writes the acks of this turn.
  void FlushAcks();
  // Writes a requeue of all unsettled deliveries.
  void Settle(std::uint64_t tag, AckCoalescer::Kind kind);
  void RequeueAll();

  // Whether both ends have closed it, so that its number is free.
  bool finished() const { return state_ == State::kFinished; }

  // ---- Called by the user's Channel

  // The user's Channel is destroyed: no callbacks are called from now on.
  void Detach();
  // The same, except that `closed` is called.
  void Close(std::function<void()> closed);

  bool is_open() const { return state_ == State::kOpen; }
  std::uint64_t generation() const { return generation_; }
  std::size_t unconfirmed() const { return confirms_.size(); }

  // Called with the broker's reply, or with the error. The reply is valid during the call.
  using OnReply = std::function<void(absl::StatusOr<const ServerMethod*>)>;

  // Sends `method`, which the broker answers with a `Reply`. `what` describes the operation for
  // error messages.
  template <typename Reply, typename Method>
  // NOLINTNEXTLINE(performance-unnecessary-value-param): clang-tidy sees no std::move in a template
  void Call(const Method& method, std::string what, OnReply done) {
    if (!is_open()) return Refuse(WithContext(what, closed_why_), std::move(done));
    if (!HasValidNames(method)) {
      return Refuse(
          absl::InvalidArgumentError(what + ": a name is longer than 255 bytes or not UTF-8"),
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
    OpenCall call = {.reply = Reply::kId, .what = std::move(what), .done = std::move(done)};
    if constexpr (requires { method.passive; }) call.passive = method.passive;
    calls_.push_back(std::move(call));
  }
  // Whether the arguments can be sent: invalid ones would close the connection.
  absl::Status CheckArguments(TableView arguments) const;
  // Calls `done` in a later turn, for an operation that is not sent.
  void Refuse(absl::Status why, OnReply done);

  // The largest body of deliveries from now on; 0: kMaxBodySize.
  void LimitBodies(std::uint64_t limit) { max_body_ = limit == 0 ? kMaxBodySize : limit; }

  // `to_come`: bytes of the body that are added by `AddBody`.
  void Publish(const PublishParams& params, PublishConfirms::Callback&& done,
               std::uint64_t to_come = 0);
  void AddBody(std::string_view part);
  void Ack(std::uint64_t tag);
  void Reject(std::uint64_t tag, bool requeue);

 private:
  enum class State {
    kOpen,
    kClosing,   // we have sent channel.close; everything but the reply is ignored
    kCut,       // the connection is lost, which is not reported yet
    kFinished,  // closed on both ends, or the connection is lost
  };

  // A call that the broker has not answered.
  struct OpenCall {
    method::Id reply;
    std::string what;
    std::optional<bool> passive = std::nullopt;  // of a declare
    OnReply done;
  };

  // Returns the error of a call that ends with this error of the channel.
  absl::Status ErrorOf(const OpenCall& call, const ChannelError& error) const;

  // The broker's reason for a returned message, which arrives before the message itself.
  struct Returned {
    std::uint16_t code = 0;
    std::string text;
  };

  // Whether all its short strings, which are names, are short enough and UTF-8. Otherwise the
  // broker would close the connection.
  template <typename Method>
  static bool HasValidNames(const Method& method) {
    const auto is_valid = [](const auto& field) {
      if constexpr (std::is_same_v<std::decay_t<decltype(field)>, std::string_view>) {
        return field.size() <= kMaxNameSize && IsUtf8(field);
      } else {
        return true;
      }
    };
    return std::apply([&](const auto&... fields) { return (is_valid(fields) && ...); },
                      Method::Fields(method));
  }

  // Calls `Finish` in a later turn.
  void FinishLater();
  // Called at the end, when both ends have closed the channel.
  void Finish();

  // Runs `work` in a later turn, if the user's Channel still exists then.
  void Defer(std::function<void(Impl&)> work);

  // The error of a method that comes while a message is arriving.
  static absl::Status MethodAmidMessage();
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
  absl::Status OnDelivered(std::shared_ptr<Message>&& message);

  // Quorum queues may deliver before consume-ok, so a consumer is registered with its request.
  void AddConsumer(std::string_view consumer_tag);
  // Returns the element of `consumers_`, or null.
  const std::string* FindConsumer(std::string_view consumer_tag) const;

  // Counts a method that this client must send at the broker's request. Returns an error if the
  // broker keeps requesting such methods and reads none.
  absl::Status CountForcedAnswer();

  // Answers all open calls and publishes, then calls the listener. `state_` is no longer kOpen.
  void Fail(const ChannelError& error, std::string_view text);

  ChannelHost* host_;  // null once cut
  const std::string vhost_;
  const std::uint16_t number_;
  const std::uint64_t generation_;
  ChannelListener* listener_;  // null once detached
  const std::shared_ptr<Executor> executor_;
  State state_ = State::kOpen;
  absl::Status closed_why_;
  std::vector<std::function<void()>> closed_;  // callbacks of `Close`
  bool detached_ = false;                      // no callbacks are called any more

  Ring<OpenCall> calls_;
  PublishConfirms confirms_;
  // Tags of consumers, from the request (or the reply, if the broker chooses the tag) until
  // cancel-ok or basic.cancel.
  std::list<std::string> consumers_;
  std::vector<std::string> starting_;  // consumers without a reply yet
  std::list<std::string> cancelled_;   // consumers that the broker has cancelled
  AckCoalescer acks_;
  std::size_t prefetch_ = 0;  // 0: unlimited
  int forced_answers_ = 0;    // since the operating system last accepted everything

  // Counted since `TakeArrivals`.
  std::size_t delivered_ = 0;
  std::size_t answers_ = 0;  // to calls

  // The message that is arriving, and the method that announced it.
  IncomingContent incoming_;
  std::uint64_t max_body_ = kMaxBodySize;
  const std::string* consumer_ = nullptr;  // of the delivery; null if it is unknown
  std::optional<Returned> returned_;       // set while a returned message arrives
  bool adds_bodies_ = false;               // bodies were added: a returned body may have any size
};

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_CHANNEL_CHANNEL_IMPL_H_
