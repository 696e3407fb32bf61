#ifndef RETRYQ_SRC_AMQP_BROKER_SUBSCRIPTION_H_
#define RETRYQ_SRC_AMQP_BROKER_SUBSCRIPTION_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "amqp/broker/relay.h"
#include "loop/pauses.h"
#include "retryq/amqp/connection.h"
#include "retryq/broker/broker.h"
#include "retryq/event_loop.h"

namespace retryq::amqp {

class QueueSubscription;

// All subscriptions of a connection, for calls that concern all of them. A subscription adds and
// removes itself. A call to one may create and destroy others.
//
// A consumer can make the broker close the connection, for example by a message on which the broker
// crashes, and that interrupts all other consumers. A consumer is watched until a second after the
// broker has accepted it. If the connection is lost meanwhile, the consumer may be the cause. On
// the next connection the other consumers start first, then the possible causes, each after its
// pause. At most half as many are watched at once as there were possible causes, so that after a
// few connections the cause is alone. The limit grows by one with each consumer that is watched
// without a loss of the connection.
//
// A broker that fails on a message closes the connection with 541 whenever that message is next,
// and requeues all unsettled messages (F73 in doc/rabbitmq_facts_queues.md). Consumers then have a
// prefetch of 1, so that nothing else is unsettled, until 20 deliveries are settled, or twice as
// many each time that this was too few. A quorum queue delivers requeued messages before all
// others, so the failing message, if ahead of others, hides them until they have been requeued too:
// after two connections without a settled delivery, the next consumer has its own prefetch. Its
// deliveries are given to the listener only when the connection has lasted for a while.
class Subscriptions final : public ConnectionListener {
 public:
  void OnOpen() override;
  void OnLost(const absl::Status& why) override;
  // Closes all channels after the acks so far. No callbacks are called any more.
  void Forget();

  // Acks and rejects are passed to the channel of their generation; others are dropped.
  void Ack(DeliveryTag tag);
  void Reject(DeliveryTag tag, bool requeue);

 private:
  friend class QueueSubscription;

  QueueSubscription* Find(std::uint64_t generation);
  template <typename Call>
  void ForEach(const Call& call);

  std::size_t NumberWatched() const;
  void OnWatchOver(bool passed);
  void StartWaiting();

  std::vector<QueueSubscription*> entries_;
  std::size_t new_possible_causes_ = 0;  // since the last connection
  std::size_t most_watched_ =
      std::numeric_limits<std::size_t>::max();  // while there are possible causes
};

// A consumer on its own channel, which is opened again whenever it is lost.
class QueueSubscription final : public Subscription, private ChannelListener {
 public:
  // `relay_to`: the connection for messages that are larger than memory. The other arguments,
  // except `params`, must outlive the subscription.
  QueueSubscription(EventLoop& loop, Connection& connection, Subscriptions& subscriptions,
                    Relay::Target relay_to, ConsumeParams params, SubscriptionListener* listener);
  ~QueueSubscription() override;

  void Cancel(std::function<void()> cancelled) override;
  void Resume(std::uint16_t prefetch) override;
  void Close(std::function<void()> closed) override;

 private:
  friend class Subscriptions;

  static constexpr int kMostWithoutSettlement = 2;

  void OnConnectionOpen();
  void OnConnectionLost(const absl::Status& why);

  // ChannelListener
  void OnDelivery(std::string_view consumer_tag, MessagePtr message) override;
  std::shared_ptr<BodySink> OnBody(const MessagePtr& message, std::uint64_t size) override;
  void OnConsumerCancelled(std::string_view consumer_tag) override;
  void OnChannelClosed(const ChannelError& why) override;

  // See Subscriptions.
  void OnBrokerFailed();
  void OnSettled();
  void DelayDeliveries();
  void PassOnDelayed();
  void RequeueDelayed();
  bool IsOneAtATime() const {
    return broker_fails_ && one_at_a_time_ > 0 && without_settlement_ < kMostWithoutSettlement;
  }
  std::uint16_t Prefetch() const;

  // Gives a delivery to the listener.
  void Deliver(MessagePtr&& message);

  // The limit of memory for bodies, see ConsumeParams::max_body. A message that does not fit is
  // requeued, and is delivered again later.
  std::uint64_t MaxBody() const;
  MessagePtr Counted(const MessagePtr& message) const;
  void OnNoRoom(std::uint64_t tag);
  void RequeueUnread();
  void AwaitRoom();

  // Settle a delivery of the present channel.
  void Ack(std::uint64_t tag);
  void Reject(std::uint64_t tag, bool requeue);

  // Opens a channel and starts the consumer, or starts it on the present channel.
  void Subscribe();
  void StartConsumer();
  void CancelConsumer();
  std::string ConsumerTag() const;
  // Ends the subscription. No callbacks are called any more.
  void Forget();
  void Leave();
  // No consumer is started any more.
  void Stop();
  // Calls `work` in a later turn, if this object still exists.
  void Defer(std::function<void()> work);

  void OnConsuming();
  void OnCancelled();

  // Calls the callbacks that wait for the end of deliveries.
  void OnNothingMore();

  void Watch(absl::Duration patience);

  // Subscribes again after a pause if the connection is open, else with the next one.
  void Interrupt(const absl::Status& why, int pause_factor = 1);
  void SubscribeAfterPause();

  // Only one reply is awaited at a time. Brokers before 4.3 close the connection if a consumer is
  // cancelled that they have not started yet, and a quorum queue replies to a cancel after requests
  // that were sent later (F60 in doc/rabbitmq_facts.md). Changes that are requested meanwhile are
  // made after the reply.
  enum class Consumer { kNone, kStarting, kStarted, kCancelling };

  EventLoop& loop_;
  Connection& connection_;
  Subscriptions& subscriptions_;
  ConsumeParams params_;
  const std::uint16_t first_prefetch_;
  std::optional<std::uint16_t> prefetch_;  // of the channel; nullopt until it is set
  std::size_t unsettled_ = 0;              // deliveries of the channel that are not settled
  std::size_t most_unsettled_;             // more unsettled deliveries break the prefetch
  bool broker_fails_ = false;        // whether the broker has failed on a message of the queue
  int one_at_a_time_ = 0;            // deliveries left with a prefetch of 1
  int next_one_at_a_time_;           // number of those after the next failure of the broker
  int without_settlement_ = 0;       // consecutive connections without a settled delivery
  bool has_settled_ = false;         // whether a delivery of this channel was settled
  std::vector<MessagePtr> delayed_;  // deliveries for the listener
  std::unique_ptr<Timer> delivery_delay_;  // null if deliveries are not delayed
  const std::shared_ptr<std::atomic<std::uint64_t>> bodies_ =
      std::make_shared<std::atomic<std::uint64_t>>(0);  // bytes; bodies are freed on any thread
  std::uint64_t has_no_room_ = 0;                       // tag of the last delivery without room
  std::vector<std::uint64_t> unread_;                   // tags of deliveries without room
  std::unique_ptr<Timer> room_;                         // set while there is no room
  std::uint16_t fewer_ = 1;                             // the lower prefetch after that
  int fewer_for_ = 0;                                   // settlements until it ends
  int next_fewer_for_;                                  // number of settlements the next time
  std::string consumer_tag_;                            // of the last consumer that was started
  SubscriptionListener* const listener_;
  const Relay::Target relay_to_;
  std::unique_ptr<Relay> relay_;  // null if not needed

  Pauses pauses_;
  absl::Duration due_;  // end of its pause, since boot
  std::unique_ptr<Timer> again_;
  std::unique_ptr<Timer> watch_;         // null if not watched
  bool may_be_cause_ = false;            // see Subscriptions
  bool waits_for_turn_ = false;          // a possible cause whose pause is over waits for its turn
  bool wanted_ = true;                   // false after `Cancel`
  std::unique_ptr<Channel> channel_;     // null if there is none
  Consumer consumer_ = Consumer::kNone;  // on the channel
  absl::Status refusal_;                 // of the consume that ends the channel
  std::vector<std::function<void()>> cancelled_;  // callbacks of Cancel
  std::function<void()> closed_;                  // callback of Close, or null
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_BROKER_SUBSCRIPTION_H_
