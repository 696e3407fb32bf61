#ifndef RETRYQ_AMQP_CHANNEL_H_
#define RETRYQ_AMQP_CHANNEL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "retryq/amqp/message.h"
#include "retryq/broker.h"
#include "retryq/export.h"

namespace retryq::amqp {

// Why a channel is closed.
struct ChannelError {
  // kNotFound (404), kFailedPrecondition (406), kResourceExhausted (406 where a limit of queues or
  // exchanges is reached), kPermissionDenied (403), kAborted (405),
  // else kUnavailable. The message carries the broker's text, with what a terminal would act on
  // escaped (\u{1B}).
  absl::Status status;
  std::uint16_t code = 0;       // the broker's reply code; 0 where it was not the broker
  std::uint16_t class_id = 0;   // the method to blame, or 0
  std::uint16_t method_id = 0;  // likewise
};

// Takes the body of one delivery as it arrives, in place of memory. Neither call may destroy a
// channel, or call its listener.
class RETRYQ_EXPORT BodySink {
 public:
  virtual ~BodySink() = default;

  // Whether it takes nothing for now. The connection then reads nothing, and soon asks again.
  virtual bool IsFull() = 0;
  virtual void Add(std::string_view part) = 0;
};

// What a channel reports by itself. All calls come on the loop's thread and never
// from inside a call to the channel; each may destroy the channel, or its connection.
class RETRYQ_EXPORT ChannelListener {
 public:
  virtual ~ChannelListener() = default;

  virtual void OnDelivery(std::string_view /*consumer_tag*/, MessagePtr /*message*/) {}

  // A delivery has begun to arrive, and its body of `size` bytes is to come: `message` is complete
  // but for that, with `left_out` set if it is larger than ConsumeParams::max_body. OnDelivery
  // follows once all of it has come. Null: the body goes into memory, or is left out; else it is
  // left out, and goes there.
  virtual std::shared_ptr<BodySink> OnBody(const MessagePtr& /*message*/, std::uint64_t /*size*/) {
    return nullptr;
  }

  // The broker ended a consumer, as when its queue is deleted.
  virtual void OnConsumerCancelled(std::string_view /*consumer_tag*/) {}

  // The broker closed the channel, or broke the protocol on it, or the connection is gone. Every
  // open call and publish has been answered before. The channel is of no more use.
  virtual void OnChannelClosed(const ChannelError& why) = 0;
};

// A channel of a Connection. It can be used as soon as it is made: what is asked of it is
// written at once, behind the opening, and the broker answers in order. A refusal closes the
// channel; all that is open on it gets the error, later calls get kUnavailable.
//
// No function calls back before it returns. Destroying the channel closes it on the
// broker, which requeues what is unacked; callbacks still open are dropped uncalled. May be
// destroyed inside any callback, and may outlive its connection.
// Delivery guarantee: what `Publish` answers as kConfirmed is the broker's; what it answers as
// kUnknown may have arrived or not. What is consumed comes again until it is settled.
//
// Used on the loop's thread only. Names are at most 255 bytes, else kInvalidArgument.
class RETRYQ_EXPORT Channel {
 public:
  // Publishes that may be unanswered at a time.
  static constexpr std::size_t kMaxUnconfirmed = std::size_t{1} << 16;

  class RETRYQ_NO_EXPORT Impl;
  explicit Channel(std::shared_ptr<Impl> impl);  // made by Connection::OpenChannel
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // Closes the channel on the broker after all that was asked of it so far, acks included, and
  // calls `closed` when the broker has answered or the connection is gone. No other call
  // comes after; callbacks still open are dropped uncalled. May be called again: each `closed` is
  // called.
  void Close(std::function<void()> closed);

  bool is_open() const;
  // Names this channel in the tags of its deliveries. Unique in the process.
  std::uint64_t generation() const;

  using Done = std::function<void(absl::Status)>;

  void DeclareQueue(const QueueDeclaration& queue,
                    std::function<void(absl::StatusOr<DeclareOk>)> done);
  void BindQueue(std::string_view queue, std::string_view exchange, std::string_view routing_key,
                 const Table& arguments, Done done);
  // Both answer how many messages went. A queue that is not there counts as deleted.
  void DeleteQueue(std::string_view queue, std::function<void(absl::StatusOr<std::uint32_t>)> done);
  void PurgeQueue(std::string_view queue, std::function<void(absl::StatusOr<std::uint32_t>)> done);

  void DeclareExchange(const ExchangeDeclaration& exchange, Done done);
  // Whether it exists: a passive declare.
  void CheckExchange(std::string_view exchange, Done done);
  // An exchange that is not there counts as deleted.
  void DeleteExchange(std::string_view exchange, Done done);

  // Puts the channel in confirm mode, which `Publish` needs.
  void ConfirmSelect(Done done);

  // Ends exactly once as PublishOutcome says, unless the channel is destroyed first. Not sent,
  // and answered as kUnknown with the code that fits, is what the broker would close the
  // connection for (501: a header that exceeds `Connection::max_header_size`; 502: a name that
  // is too long) and what would fill the memory (506: kMaxUnconfirmed publishes are open, or
  // `Connection::kMaxUnsentBytes` wait to be sent). Who publishes faster than the broker
  // confirms should go on in the answers to earlier publishes.
  void Publish(const PublishParams& params, std::function<void(const PublishResult&)> done);
  std::size_t unconfirmed() const;

  // The same for a body that is not there as a whole: `body_size` bytes, which `AddBody` adds in
  // parts. The body of `params` must be empty. Until all of it is added nothing else may be asked
  // of the channel, which must not be closed or destroyed, unless its connection is, too: the
  // broker would close that.
  void BeginPublish(const PublishParams& params, std::uint64_t body_size,
                    std::function<void(const PublishResult&)> done);
  // Does nothing on a channel that is closed.
  void AddBody(std::string_view part);

  // Unacked deliveries at a time for each consumer started from now on; 0 = no limit.
  void Qos(std::uint16_t prefetch, Done done);

  // Starts a consumer; `params.prefetch` is `Qos`'s business, and `params.max_body` is that of all
  // consumers of the channel. Answers its tag. A delivery of more
  // than 512 MiB, which RabbitMQ cannot be configured to carry, closes the channel.
  void Consume(const ConsumeParams& params, std::function<void(absl::StatusOr<std::string>)> done);
  // Once answered, the consumer gets nothing more, what still comes is put back; acks still work.
  void Cancel(std::string_view consumer_tag, Done done);

  // Settle a delivery of this channel, by the broker's number; what is not unsettled is
  // ignored. Sent at the end of the loop's turn, acks coalesced by `multiple`.
  void Ack(std::uint64_t delivery_tag);
  void Reject(std::uint64_t delivery_tag, bool requeue);

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_AMQP_CHANNEL_H_
