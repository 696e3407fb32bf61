#ifndef RETRYQ_BROKER_BROKER_H_
#define RETRYQ_BROKER_BROKER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "retryq/amqp/message.h"
#include "retryq/amqp/properties.h"
#include "retryq/amqp/table.h"
#include "retryq/export.h"

namespace retryq {

// A queue to declare, or to look up if `passive` is set.
struct QueueDeclaration {
  std::string name;  // at most 255 bytes
  bool passive = false;
  bool durable = true;
  amqp::Table arguments = {};
};

// An exchange to declare, and to bind to the queue that is declared with it.
struct ExchangeDeclaration {
  std::string name;
  std::string type = "fanout";
  bool durable = true;
  bool auto_delete = false;
};

struct DeclareParams {
  QueueDeclaration queue;
  // Declared after the queue, then bound to it with this key.
  std::optional<ExchangeDeclaration> exchange = std::nullopt;
  std::string binding_key = {};
};

// The broker's reply to a declare.
struct DeclareOk {
  std::uint32_t message_count = 0;  // ready messages in the queue
  std::uint32_t consumer_count = 0;
};

// One message to publish. The views need to live only until `Publish` returns, except the body's if
// `body_owner` is set: the owner keeps the body alive, and the body is then sent without being
// copied.
struct PublishParams {
  std::string_view exchange = {};
  std::string_view routing_key = {};
  bool mandatory = true;
  amqp::Properties properties = {};
  std::string_view body = {};
  std::shared_ptr<const void> body_owner = nullptr;
};

// The result of a publish. Every publish gets exactly one.
enum class PublishOutcome {
  kConfirmed,  // the broker confirmed the message and did not return it
  kReturned,   // no queue took the message: `code` and `text` are those of basic.return
  kNacked,     // the broker refused the message (basic.nack)
  kUnknown,    // channel or connection was lost before the reply: the message may or may not have
               // arrived
  kNotSent,    // the channel has no room now: publish again when others have ended
};

struct PublishResult {
  PublishOutcome outcome = PublishOutcome::kUnknown;
  // kReturned: 312 no route, …. kUnknown: the code that closed the channel (404, 406, …), or that
  // closed the connection because of what was sent (501, 541, …); 0 if the connection was lost or
  // did not exist.
  std::uint16_t code = 0;
  std::string_view text = {};  // valid during the call; escaped for terminals, as all broker texts
};

struct ConsumeParams {
  std::string queue;
  std::uint16_t prefetch = 64;    // unacked deliveries at a time; 0: unlimited
  std::string consumer_tag = {};  // empty: a tag that names host and process
  amqp::Table arguments = {};
  // Bytes. A larger body is not kept in memory: see amqp::Message::left_out. 0: 512 MiB; a broker
  // that sends more violates the protocol. All bodies of the consumer in memory together take at
  // most twice this; bodies below 32 KiB do not count. Further messages are requeued, and none is
  // requested until half of that memory is free; then fewer at a time.
  std::uint64_t max_body = 0;
  bool exclusive = false;  // refused while the queue has another consumer, and refuses others
};

// Receives the events of a subscription. All calls come on the loop's thread, and never from inside
// a call to the broker.
class RETRYQ_EXPORT SubscriptionListener {
 public:
  virtual ~SubscriptionListener() = default;

  // The broker accepted the consumer: the first time, and after each interruption.
  virtual void OnSubscribed() = 0;

  virtual void OnDelivery(amqp::MessagePtr message) = 0;

  // A delivery has begun to arrive, and its body is larger than ConsumeParams::max_body (see
  // `left_out`). Return true to forward the body as it arrives, in a publish of `copy`; fill in
  // `copy` except its body; the views are read right after the call. OnDelivery follows when that
  // publish has ended, and the message has the result. A broker is not required to call this.
  virtual bool PassOn(const amqp::MessagePtr& /*message*/, PublishParams* /*copy*/) {
    return false;
  }

  // There are no deliveries for now: the connection was lost (kUnavailable), the channel was closed
  // (kNotFound: no such queue; kPermissionDenied; …), the connection was closed because the broker
  // failed on a message of the queue (kInternal: 541), or the broker cancelled the consumer
  // (kAborted). The broker has requeued the unacked messages; their tags are invalid now. The
  // subscription retries by itself, with growing pauses.
  virtual void OnInterrupted(const absl::Status& why) = 0;
};

// A consumer on the broker. The destructor requeues unacked messages and closes the channel; the
// listener gets no more calls. May be destroyed inside any callback.
class RETRYQ_EXPORT Subscription {
 public:
  virtual ~Subscription() = default;

  // Asks the broker to send no more deliveries. Calls `cancelled` once none can arrive any more; if
  // the consumer is not subscribed now, soon. Acks still work afterwards. The subscription does not
  // subscribe again by itself until `Resume`.
  virtual void Cancel(std::function<void()> cancelled) = 0;

  // Subscribes again after `Cancel`, on the same channel: earlier tags stay valid. From now on
  // `prefetch` replaces that of ConsumeParams; messages that were unacked before do not count
  // against it.
  virtual void Resume(std::uint16_t prefetch) = 0;

  // Closes the channel after everything settled so far, and calls `closed` when the broker has
  // replied, so that no ack is lost on the way, or when the connection is gone. Unacked messages
  // are requeued. The listener gets no more calls.
  virtual void Close(std::function<void()> closed) = 0;
};

// Receives events that concern all publishes and declares.
class RETRYQ_EXPORT BrokerListener {
 public:
  virtual ~BrokerListener() = default;

  // Publishing and declaring are possible from now on.
  virtual void OnReady() = 0;
  // The connection was lost or could not be made. Each open publish ends with kUnknown and each
  // open declare with kUnavailable *after* this call. kUnauthenticated: wrong user or password.
  // kPermissionDenied: no right to the vhost. kNotFound: no such vhost. kInvalidArgument: the
  // broker cannot be reached with these options. kUnavailable: everything else. The Broker
  // reconnects by itself with growing pauses.
  virtual void OnLost(const absl::Status& why) = 0;
  // connection.blocked or unblocked: a resource alarm. RabbitMQ reads messages that are published
  // during the alarm only when the alarm is over, so publish none.
  virtual void OnBlocked(bool blocked, std::string_view reason) = 0;
};

// Everything that retrying needs from RabbitMQ. `amqp::MakeBroker` makes the real one; a program
// with its own AMQP client can implement it.
//
// Delivery guarantee: every publish ends with exactly one PublishOutcome; messages are delivered at
// least once.
//
// Used on one thread. No function calls back before it returns; the callbacks of publishes on one
// channel come in any order. A callback may destroy anything except the Broker itself.
class RETRYQ_EXPORT Broker {
 public:
  virtual ~Broker() = default;

  // At most one listener at a time; nullptr for none. Not owned. Removing the listener (nullptr)
  // also destroys the callbacks of all open publishes and declares without calling them, so that
  // their owner can be destroyed before the broker.
  virtual void SetListener(BrokerListener* listener) = 0;

  // Declares a queue and, if named, an exchange bound to it: in this order, none of them nowait, on
  // a channel that no other declare uses meanwhile. Errors: kNotFound (404), kFailedPrecondition
  // (406: exists with other arguments), kResourceExhausted (406: the vhost or the cluster has
  // reached its limit of queues or exchanges), kPermissionDenied (403), kAborted (405: locked),
  // kUnavailable (no connection, or lost), kInvalidArgument (name too long). The message names the
  // object and contains the broker's text, in which characters that control a terminal are escaped
  // (\u{1B}). There is no deadline: a broker may take a minute.
  using DeclareCallback = std::function<void(absl::StatusOr<DeclareOk>)>;
  virtual void Declare(DeclareParams params, DeclareCallback done) = 0;

  // Checks whether an exchange exists (a passive declare). Errors as for `Declare`.
  virtual void CheckExchange(std::string name, std::function<void(absl::Status)> done) = 0;

  // Publishes on the only publishing channel, in confirm mode. If there is no connection, the
  // result is kUnknown with code 0, in the next turn of the loop. `done` should fit std::function's
  // inline storage (two pointers).
  using PublishCallback = std::function<void(const PublishResult&)>;
  virtual void Publish(const PublishParams& params, PublishCallback done) = 0;

  // Starts consuming. `listener` must outlive the subscription, which must not
  // outlive the broker.
  virtual std::unique_ptr<Subscription> Consume(ConsumeParams params,
                                                SubscriptionListener* listener) = 0;

  // Acks a delivery of any subscription. Tags of channels that are gone are ignored. Acks of one
  // turn of the loop are sent together, coalesced by `multiple`.
  virtual void Ack(amqp::DeliveryTag tag) = 0;
  // Requeues a delivery, or with `requeue` false sends it to the queue's dead-letter exchange, if
  // any. Requeues by basic.nack: from RabbitMQ 4.3 on, a basic.reject that requeues counts as a
  // failure of the message.
  virtual void Reject(amqp::DeliveryTag tag, bool requeue) = 0;

  // Gives up the connection for publishes and declares as if it were lost: `OnLost` follows with
  // this reason, open publishes and declares end as usual, and another connection attempt is made.
  // For a broker that is connected but does not answer publishes. Does nothing if there is no
  // connection, or no way to give it up.
  virtual void Reconnect(const absl::Status& /*why*/) {}

  // Sends all pending data, closes the connections in order and calls `closed` when this is done or
  // has proved impossible. No other callback is called afterwards.
  virtual void Close(std::function<void()> closed) = 0;

  // Bytes that were written for publishing, but that the network has not accepted yet. Publishing
  // while this is high uses more and more memory. 0 if unknown.
  virtual std::size_t unsent_bytes() const { return 0; }

  // Largest payload of a content header frame that may be sent (negotiated frame_max minus 8); the
  // default before the first connection.
  virtual std::size_t max_header_size() const = 0;

  // "3.10.8", or empty before the first connection.
  virtual std::string server_version() const = 0;

  // The longest heartbeat interval that the connection may have; the margin of the delay queues
  // must be at least four of them. Zero: a dead connection may stay undetected, which retrying
  // refuses.
  virtual absl::Duration heartbeat() const { return absl::Seconds(15); }
};

}  // namespace retryq

#endif  // RETRYQ_BROKER_BROKER_H_
