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
#include "retryq/broker/broker.h"
#include "retryq/export.h"

namespace retryq::amqp {

// The reason why a channel was closed.
struct ChannelError {
  // kNotFound (404), kFailedPrecondition (406), kResourceExhausted (406 if a limit of queues or
  // exchanges is reached), kPermissionDenied (403), kAborted (405), otherwise kUnavailable. The
  // message contains the broker's text, in which characters that control a terminal are escaped
  // (\u{1B}).
  absl::Status status;
  std::uint16_t code = 0;       // the broker's reply code; 0 if the broker did not close it
  std::uint16_t class_id = 0;   // class of the method that caused it, or 0
  std::uint16_t method_id = 0;  // the method that caused it, or 0
};

// Receives the body of one delivery as it arrives, so that the body is not kept in memory. Neither
// call may destroy a channel, or call its listener.
class RETRYQ_EXPORT BodySink {
 public:
  virtual ~BodySink() = default;

  // Returns whether the sink cannot accept data now. The connection then stops reading, and soon
  // asks again.
  virtual bool IsFull() = 0;
  virtual void Add(std::string_view part) = 0;
};

// Receives the events of a channel. All calls come on the loop's thread and never from inside a
// call to the channel; each may destroy the channel, or its connection.
class RETRYQ_EXPORT ChannelListener {
 public:
  virtual ~ChannelListener() = default;

  virtual void OnDelivery(std::string_view /*consumer_tag*/, MessagePtr /*message*/) {}

  // A delivery has begun to arrive, and its body of `size` bytes follows: `message` is complete
  // except the body, with `left_out` set if the body is larger than ConsumeParams::max_body.
  // OnDelivery follows once the whole body has arrived. If this returns null, the body is kept in
  // memory, or dropped if `left_out` is set; otherwise the body is passed to the sink and not kept.
  // Not called for bodies of less than kLeastAnnounced bytes that are not left out.
  static constexpr std::uint64_t kLeastAnnounced = std::uint64_t{32} << 10;
  virtual std::shared_ptr<BodySink> OnBody(const MessagePtr& /*message*/, std::uint64_t /*size*/) {
    return nullptr;
  }

  // The broker cancelled a consumer, for example because its queue was deleted.
  virtual void OnConsumerCancelled(std::string_view /*consumer_tag*/) {}

  // The broker closed the channel or violated the protocol on it, or the connection is gone. The
  // callbacks of all open calls and publishes have been called before. The channel cannot be used
  // any more.
  virtual void OnChannelClosed(const ChannelError& why) = 0;
};

// A channel of a Connection. It can be used as soon as it is made: calls are sent at once, right
// after channel.open, and the broker replies in order. If the broker refuses a call, it closes the
// channel; all open calls on it get the error, and later calls get kUnavailable.
//
// No function calls back before it returns. Destroying the channel closes it on the broker, which
// requeues unacked messages; open callbacks are dropped without being called. May be destroyed
// inside any callback, and may outlive its connection.
// Delivery guarantee: the broker is responsible for a publish that ends with kConfirmed; one that
// ends with kUnknown may or may not have arrived. A delivery is repeated until it is settled.
//
// Used on the loop's thread only. Names are at most 255 bytes, else kInvalidArgument.
class RETRYQ_EXPORT Channel {
 public:
  // Maximum number of unconfirmed publishes.
  static constexpr std::size_t kMaxUnconfirmed = std::size_t{1} << 16;

  class RETRYQ_NO_EXPORT Impl;
  explicit Channel(std::shared_ptr<Impl> impl);  // made by Connection::OpenChannel
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // Closes the channel on the broker after all earlier calls, including acks, and calls `closed`
  // when the broker has replied or the connection is gone. Make no other call afterwards; open
  // callbacks are dropped without being called. May be called again: each `closed` is called.
  void Close(std::function<void()> closed);

  bool is_open() const;
  // Identifies this channel in the tags of its deliveries. Unique in the process.
  std::uint64_t generation() const;

  using Done = std::function<void(absl::Status)>;

  void DeclareQueue(const QueueDeclaration& queue,
                    std::function<void(absl::StatusOr<DeclareOk>)> done);
  void BindQueue(std::string_view queue, std::string_view exchange, std::string_view routing_key,
                 const Table& arguments, Done done);
  // Both return the number of deleted messages. A queue that does not exist counts as deleted.
  void DeleteQueue(std::string_view queue, std::function<void(absl::StatusOr<std::uint32_t>)> done);
  void PurgeQueue(std::string_view queue, std::function<void(absl::StatusOr<std::uint32_t>)> done);

  void DeclareExchange(const ExchangeDeclaration& exchange, Done done);
  // Checks whether the exchange exists: a passive declare.
  void CheckExchange(std::string_view exchange, Done done);
  // An exchange that does not exist counts as deleted.
  void DeleteExchange(std::string_view exchange, Done done);

  // Puts the channel in confirm mode, which `Publish` needs.
  void ConfirmSelect(Done done);

  // Calls `done` exactly once with a PublishOutcome, unless the channel is destroyed first. A
  // publish is not sent, and ends with kUnknown and a matching code, if the broker would close the
  // connection because of it (501: a header that exceeds `Connection::max_header_size`; 502: a name
  // that is too long). It ends with kNotSent if kMaxUnconfirmed publishes are open, or if
  // `Connection::kMaxUnsentBytes` wait to be sent. A caller that publishes faster than the broker
  // confirms should publish more in the callbacks of earlier publishes.
  void Publish(const PublishParams& params, std::function<void(const PublishResult&)> done);
  std::size_t unconfirmed() const;

  // Like `Publish`, for a body that is not available as a whole: `body_size` bytes, which `AddBody`
  // adds in parts. The body of `params` must be empty. Until the whole body is added, the channel
  // must get no other call and must not be closed or destroyed, unless its connection is, too: the
  // broker would close the connection.
  void BeginPublish(const PublishParams& params, std::uint64_t body_size,
                    std::function<void(const PublishResult&)> done);
  // Has no effect on a closed channel.
  void AddBody(std::string_view part);

  // Sets the prefetch of each consumer that is started from now on: unacked deliveries at a time;
  // 0: unlimited.
  void Qos(std::uint16_t prefetch, Done done);

  // Starts a consumer and returns its tag. `params.prefetch` is ignored, see `Qos`;
  // `params.max_body` applies to all consumers of the channel. A delivery of more than 512 MiB,
  // which RabbitMQ cannot be configured to carry, closes the channel.
  void Consume(const ConsumeParams& params, std::function<void(absl::StatusOr<std::string>)> done);
  // Once `done` is called, the consumer gets no more deliveries, and deliveries that still arrive
  // are requeued. Earlier deliveries can still be acked.
  void Cancel(std::string_view consumer_tag, Done done);

  // Settle a delivery of this channel, by the broker's number; other numbers are ignored. Sent at
  // the end of the loop's turn, acks coalesced by `multiple`.
  void Ack(std::uint64_t delivery_tag);
  void Reject(std::uint64_t delivery_tag, bool requeue);

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_AMQP_CHANNEL_H_
