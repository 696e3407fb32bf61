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
#include "retryq/broker.h"
#include "retryq/event_loop.h"

namespace retryq::amqp {

class QueueSubscription;

// All subscriptions of a connection, to be told of what concerns them all. Each enters
// and leaves by itself; a call to one may make and destroy any.
//
// A consumer that makes the broker end the connection, such as one that is sent a message on which
// the broker crashes, takes all others along. Which it was shows by trial: a consumer is on trial
// until a second after the broker has accepted it. Those that were when the connection went are
// suspects. With the next connection the others go first, and then suspects, each after its pause:
// half as many at once as were on trial, so that after a few connections the one is alone, and more
// with each that passes.
//
// A broker that fails on one message closes the connection with 541 whenever that message is next,
// and takes back all that is unsettled (F73 in doc/rabbitmq_facts_queues.md). So from then on
// consumers have a prefetch of 1, with which nothing else is unsettled, until a number of
// deliveries are settled: 20, twice as many each time that this proves to be too few. A quorum
// queue delivers what it has taken back before all else, so the message ahead of others hides them
// until these have been taken back too: after two connections on which nothing is settled the next
// consumer has its own prefetch. What it gets is handed over once the connection has stood for a
// while.
class Subscriptions {
 public:
  void OnOpen();
  void OnLost(const absl::Status& why);
  // Closes all channels, after the acks so far, and calls nobody any more.
  void Forget();

  // Acks and rejects find their channel by generation; others are dropped.
  void Ack(DeliveryTag tag);
  void Reject(DeliveryTag tag, bool requeue);

 private:
  friend class QueueSubscription;

  QueueSubscription* Find(std::uint64_t generation);
  template <typename Call>
  void ForEach(const Call& call);

  std::size_t OnTrial() const;
  void OnTrialOver(bool passed);
  void AdmitSuspects();

  std::vector<QueueSubscription*> entries_;
  std::size_t new_suspects_ = 0;  // since the last connection
  std::size_t most_on_trial_ = std::numeric_limits<std::size_t>::max();  // with suspects among them
};

// A consumer on a channel of its own, made anew whenever it is gone.
class QueueSubscription final : public Subscription, private ChannelListener {
 public:
  // `relay_to`: where to pass on what is larger than memory. All but that and `params` must outlive
  // it.
  QueueSubscription(EventLoop& loop, Connection& connection, Subscriptions& subscriptions,
                    Relay::Target relay_to, ConsumeParams params, SubscriptionListener* listener);
  ~QueueSubscription() override;

  void Cancel(std::function<void()> cancelled) override;
  void Resume(std::uint16_t prefetch) override;
  void Close(std::function<void()> closed) override;

 private:
  friend class Subscriptions;

  static constexpr int kMostVain = 2;

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
  void Hold();
  void HandOver();
  void GiveBackHeld();
  bool IsCareful() const { return broker_fails_ && one_at_a_time_ > 0 && vain_ < kMostVain; }
  std::uint16_t Prefetch() const;

  // Passes on a delivery that has arrived.
  void Deliver(MessagePtr message);

  // What all bodies in memory may take, see ConsumeParams::max_body: what does not fit comes again
  // later.
  std::uint64_t MaxBody() const;
  MessagePtr Counted(MessagePtr message) const;
  void OnNoRoom(std::uint64_t tag);
  void GiveBackUnread();
  void AwaitRoom();

  // What came on the channel there is.
  void Ack(std::uint64_t tag);
  void Reject(std::uint64_t tag, bool requeue);

  // On a channel that is to be opened, or on the one there is.
  void Subscribe();
  void StartConsumer();
  void CancelConsumer();
  std::string ConsumerTag() const;
  // Never again, and no more calls.
  void Forget();
  void Leave();
  // Starts no consumer any more.
  void Stop();
  // Calls `work` in a later turn, if this is still there.
  void Defer(std::function<void()> work);

  void OnConsuming();
  void OnCancelled();

  // Calls those who wait for that.
  void OnNothingMore();

  void BeginTrial(absl::Duration patience);

  // Subscribes again after a pause if the connection is open, else with the next one.
  void Interrupt(const absl::Status& why);
  void SubscribeAfterPause();

  // One answer at a time is waited for: brokers before 4.3 close the connection for a cancel of a
  // consumer that they have not started yet, and a quorum queue answers a cancel after what was
  // asked behind it (F60 in doc/rabbitmq_facts.md). What is wanted by then is done then.
  enum class Consumer { kNone, kStarting, kStarted, kCancelling };

  EventLoop& loop_;
  Connection& connection_;
  Subscriptions& subscriptions_;
  ConsumeParams params_;
  const std::uint16_t first_prefetch_;
  std::optional<std::uint16_t> prefetch_;  // of the channel; nothing before it is set
  std::size_t unsettled_ = 0;              // deliveries of the channel
  std::size_t most_unsettled_;             // of which the broker has no right to more
  bool broker_fails_ = false;              // on a message of the queue
  int one_at_a_time_ = 0;                  // deliveries to come
  int next_one_at_a_time_;                 // of these after the next failure of the broker
  int vain_ = 0;                           // connections without a settled delivery, in a row
  bool has_settled_ = false;               // on this channel
  std::vector<MessagePtr> held_;           // to be handed over
  std::unique_ptr<Timer> hold_;            // null: nothing is held
  const std::shared_ptr<std::atomic<std::uint64_t>> bodies_ =
      std::make_shared<std::atomic<std::uint64_t>>(0);  // bytes; freed by any thread
  std::uint64_t has_no_room_ = 0;      // tag of the delivery of which that was found last
  std::vector<std::uint64_t> unread_;  // tags of those without room
  std::unique_ptr<Timer> room_;        // not null while there is none
  std::uint16_t fewer_ = 1;            // the prefetch,
  int fewer_for_ = 0;                  // until so many are settled
  int next_fewer_for_;                 // the same, the next time
  std::string consumer_tag_;           // of the consumer that was started last
  SubscriptionListener* const listener_;
  const Relay::Target relay_to_;
  std::unique_ptr<Relay> relay_;  // null until it is needed

  Pauses pauses_;
  absl::Duration due_;  // since boot: when its pause is over
  std::unique_ptr<Timer> again_;
  std::unique_ptr<Timer> trial_;                  // null: not on trial
  bool suspect_ = false;                          // see Subscriptions
  bool waits_for_room_ = false;                   // a suspect whose pause is over
  bool wanted_ = true;                            // not after Cancel
  std::unique_ptr<Channel> channel_;              // null while there is none
  Consumer consumer_ = Consumer::kNone;           // of the channel
  std::vector<std::function<void()>> cancelled_;  // waiting for that
  std::function<void()> closed_;                  // the same; null: nobody does
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_BROKER_SUBSCRIPTION_H_
