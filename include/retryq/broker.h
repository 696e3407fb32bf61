#ifndef RETRYQ_BROKER_H_
#define RETRYQ_BROKER_H_

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

// A queue to declare, or with `passive` to look for.
struct QueueDeclaration {
  std::string name;  // at most 255 bytes
  bool passive = false;
  bool durable = true;
  amqp::Table arguments = {};
};

// An exchange to declare and to bind to the queue that is declared with it.
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

// The broker's answer to a declare.
struct DeclareOk {
  std::uint32_t message_count = 0;  // ready messages in the queue
  std::uint32_t consumer_count = 0;
};

// One message to publish. All views need to live only until `Publish` returns,
// except the body's where `body_owner` is given: that keeps it alive, and the
// body is then sent without being copied.
struct PublishParams {
  std::string_view exchange;
  std::string_view routing_key;
  bool mandatory = true;
  amqp::Properties properties = {};
  std::string_view body = {};
  std::shared_ptr<const void> body_owner = nullptr;
};

// How a publish ended. Exactly one of these for every publish, never silence.
enum class PublishOutcome {
  kConfirmed,  // the broker has taken responsibility and did not return it
  kReturned,   // routed nowhere: `code` and `text` are those of basic.return
  kNacked,     // the broker refused it (basic.nack)
  kUnknown,    // channel or connection went before the answer: it may or may not
               // have arrived
};

struct PublishResult {
  PublishOutcome outcome = PublishOutcome::kUnknown;
  // kReturned: 312 no route, …. kUnknown: what closed the channel (404, 406, …), or the connection
  // as an answer to what was sent (501, 541, …); 0 where the connection was lost or not there.
  std::uint16_t code = 0;
  std::string_view text = {};  // valid during the call; fit for a terminal, as all the broker's are
};

struct ConsumeParams {
  std::string queue;
  std::uint16_t prefetch = 64;    // unacked deliveries at a time; 0 = no limit
  std::string consumer_tag = {};  // empty: one that names host and process
  amqp::Table arguments = {};
  // Bytes. A larger body is not kept in memory: see amqp::Message::left_out. 0: 512 MiB, beyond
  // which the broker breaks the protocol. All bodies of the consumer that are in memory are twice
  // that at most, of which those below 32 KiB do not count. What else comes goes back into the
  // queue, and no more is asked for until half of that is free; then fewer at a time.
  std::uint64_t max_body = 0;
};

// What a subscription reports. All calls come on the loop's thread, and never
// from inside a call to the broker.
class RETRYQ_EXPORT SubscriptionListener {
 public:
  virtual ~SubscriptionListener() = default;

  // The broker accepted the consumer: at first, and after each interruption.
  virtual void OnSubscribed() = 0;

  virtual void OnDelivery(amqp::MessagePtr message) = 0;

  // A delivery begins to arrive whose body is larger than ConsumeParams::max_body (its `left_out`).
  // True: the body is passed on as it arrives, in a publish of `copy`, which this fills except for
  // its body; the views are read right after the call. OnDelivery follows when that publish has
  // ended, and the message says how. A broker need not ask.
  virtual bool PassOn(const amqp::MessagePtr& /*message*/, PublishParams* /*copy*/) {
    return false;
  }

  // No deliveries for now: connection lost (kUnavailable), channel closed
  // (kNotFound: no such queue; kPermissionDenied; …), connection closed as the
  // broker failed on a message of the queue (kInternal: 541), or consumer cancelled by
  // the broker (kAborted). What was unacked has been requeued by the broker,
  // its tags are dead. The subscription tries again by itself, with growing
  // pauses.
  virtual void OnInterrupted(const absl::Status& why) = 0;
};

// A consumer on the broker. Destroying it gives back what is unacked and closes
// its channel; no call comes after. May be destroyed inside any callback.
class RETRYQ_EXPORT Subscription {
 public:
  virtual ~Subscription() = default;

  // Asks the broker to send no more. Calls `cancelled` once nothing more can
  // arrive (soon, if not subscribed now); acks still work after, and it is not
  // subscribed again by itself until `Resume`.
  virtual void Cancel(std::function<void()> cancelled) = 0;

  // Subscribes again after `Cancel`, on the same channel: earlier tags stay
  // good. From now on `prefetch` is that of ConsumeParams; what is unacked of
  // before does not count into it.
  virtual void Resume(std::uint16_t prefetch) = 0;

  // Closes the channel after everything settled so far, and calls `closed` when
  // the broker has answered, so that no ack is lost on the way, or when the
  // connection is gone. What is unacked is requeued. No other call comes after.
  virtual void Close(std::function<void()> closed) = 0;
};

// What concerns all publishes and declares at once.
class RETRYQ_EXPORT BrokerListener {
 public:
  virtual ~BrokerListener() = default;

  // Publishing and declaring work from now on.
  virtual void OnReady() = 0;
  // The connection is gone, or could not be made: each open publish has been
  // answered kUnknown and each declare kUnavailable *after* this call.
  // kUnauthenticated: wrong user or password. kPermissionDenied: no right to
  // the vhost. kNotFound: no such vhost. kInvalidArgument: it cannot be reached
  // with these options. kUnavailable: everything else. The broker connects again
  // by itself with growing pauses.
  virtual void OnLost(const absl::Status& why) = 0;
  // connection.blocked / unblocked: a resource alarm. What is published
  // meanwhile is read only once it is over, so better nothing is.
  virtual void OnBlocked(bool blocked, std::string_view reason) = 0;
};

// All that retrying needs of RabbitMQ. `amqp::MakeBroker` makes the real one;
// anyone with a client of their own can implement it.
//
// Delivery guarantee: every publish is answered exactly once, as PublishOutcome says; what is
// consumed comes at least once.
//
// Used on one thread. No function calls back before it returns; callbacks of
// one channel's publishes come in any order. A callback may destroy anything
// but must not destroy the Broker itself.
class RETRYQ_EXPORT Broker {
 public:
  virtual ~Broker() = default;

  // At most one listener at a time; nullptr for none. Not owned. Taking it away
  // (nullptr) also destroys, uncalled, the callbacks of all open publishes and
  // declares, for who goes away before the broker does.
  virtual void SetListener(BrokerListener* listener) = 0;

  // Declares a queue and, if named, an exchange bound to it: in this order,
  // none of them nowait, on a channel that no other declare shares meanwhile.
  // Errors: kNotFound (404), kFailedPrecondition (406: exists with other
  // arguments), kResourceExhausted (406: the vhost or the cluster has as many
  // queues or exchanges as it may), kPermissionDenied (403), kAborted (405: locked), kUnavailable
  // (no connection, or lost), kInvalidArgument (name too long). The message
  // names the object and carries the broker's text, in which what a terminal would
  // act on is escaped (\u{1B}). There is no deadline: a broker may take a minute.
  using DeclareCallback = std::function<void(absl::StatusOr<DeclareOk>)>;
  virtual void Declare(DeclareParams params, DeclareCallback done) = 0;

  // Whether an exchange exists (a passive declare). Errors as above.
  virtual void CheckExchange(std::string name, std::function<void(absl::Status)> done) = 0;

  // Publishes on the one publishing channel, in confirm mode. If there is no
  // connection the result is kUnknown with code 0, at the next turn of the
  // loop. `done` should fit std::function's inline storage (two pointers).
  using PublishCallback = std::function<void(const PublishResult&)>;
  virtual void Publish(const PublishParams& params, PublishCallback done) = 0;

  // Starts consuming. `listener` must outlive the subscription, which must not
  // outlive the broker.
  virtual std::unique_ptr<Subscription> Consume(ConsumeParams params,
                                                SubscriptionListener* listener) = 0;

  // Settle a delivery of any subscription. Tags of channels that are gone are
  // ignored. Acks of one turn of the loop leave together, coalesced by
  // `multiple`.
  virtual void Ack(amqp::DeliveryTag tag) = 0;
  // Back into the queue, or with `requeue` false to its dead-letter exchange,
  // if any. Back by basic.nack: from RabbitMQ 4.3 on a basic.reject that
  // requeues counts as a failure of the message.
  virtual void Reject(amqp::DeliveryTag tag, bool requeue) = 0;

  // Gives up the connection for publishes and declares, as one that is lost: `OnLost` follows with
  // this reason, what is open on it is answered as usual, and another attempt is made. For a broker
  // that is there and does not answer publishes. Does nothing where there is no connection, or no
  // way to give it up.
  virtual void Reconnect(const absl::Status& /*why*/) {}

  // Sends what waits to be sent, closes the connections in order and calls
  // `closed` when that is done, or cannot be. No other callback comes after.
  virtual void Close(std::function<void()> closed) = 0;

  // Bytes written for publishing and not yet taken by the network: publishing
  // while many wait fills the memory. 0 where that is not known.
  virtual std::size_t unsent_bytes() const { return 0; }

  // Largest payload of a content header frame that may be sent (negotiated
  // frame_max less 8); the default before the first connection.
  virtual std::size_t max_header_size() const = 0;

  // "3.10.8", or empty before the first connection.
  virtual std::string server_version() const = 0;

  // The longest interval of heartbeats that the connection may have; the margin of the delay queues
  // must be four of them. Zero: a dead connection may stay unnoticed, which retrying refuses.
  virtual absl::Duration heartbeat() const { return absl::Seconds(15); }
};

}  // namespace retryq

#endif  // RETRYQ_BROKER_H_
