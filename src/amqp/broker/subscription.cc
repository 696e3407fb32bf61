#include "amqp/broker/subscription.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "amqp/channel/incoming_content.h"
#include "amqp/channel/reply_status.h"
#include "amqp/codec/protocol_error.h"
#include "amqp/transport/process_name.h"
#include "base/name_size.h"
#include "loop/call_after.h"

namespace retryq::amqp {
namespace {

constexpr absl::Duration kFirstPause = absl::Milliseconds(100);
constexpr absl::Duration kLongestPause = absl::Seconds(10);
// The pauses after a refusal that ends the connection are longer, for the sake of the other
// consumers on it.
constexpr int kPauseFactorIfConnectionEnds = 10;

// If a connection is lost within this time after a consumer was accepted, the consumer may be the
// cause.
constexpr absl::Duration kWatched = absl::Seconds(1);
// If the broker does not reply, other consumers need not wait longer.
constexpr absl::Duration kWatchedUnanswered = absl::Seconds(10);

// Number of deliveries that are settled one by one after the broker has failed on one.
constexpr int kFirstOneAtATime = 20;
constexpr int kMostOneAtATime = 10'000;
// How long a connection with a higher prefetch must last before its deliveries are given to the
// listener.
constexpr absl::Duration kDeliveryDelay = absl::Milliseconds(300);

constexpr absl::Duration kLookForRoom = absl::Milliseconds(20);

class DiscardingSink final : public BodySink {
 public:
  bool IsFull() override { return false; }
  void Add(std::string_view /*part*/) override {}
};

ConsumeParams WithConsumerTag(ConsumeParams params) {
  if (params.consumer_tag.empty()) {
    params.consumer_tag = absl::StrCat("retryq.", HostAndProcessName());
  }
  return params;
}

// The limit of unsettled deliveries, because a broker that ignores the prefetch would fill memory.
// Deliveries to earlier consumers on the channel are added to those of the present one.
std::size_t MostUnsettled(std::uint16_t prefetch) {
  constexpr std::size_t kSpare = 100;
  return prefetch == 0 ? std::numeric_limits<std::size_t>::max()
                       : 2 * std::size_t{prefetch} + kSpare;
}

}  // namespace

template <typename Call>
void Subscriptions::ForEach(const Call& call) {
  const std::vector<QueueSubscription*> present = entries_;
  for (QueueSubscription* entry : present) {
    const bool still_there = std::count(entries_.begin(), entries_.end(), entry) > 0;
    if (still_there) call(*entry);
  }
}

void Subscriptions::OnOpen() {
  if (new_possible_causes_ > 0) {
    most_watched_ = std::max<std::size_t>(1, std::exchange(new_possible_causes_, 0) / 2);
  }
  ForEach([](QueueSubscription& subscription) { subscription.OnConnectionOpen(); });
  StartWaiting();
}

void Subscriptions::OnLost(const absl::Status& why) {
  ForEach([&](QueueSubscription& subscription) { subscription.OnConnectionLost(why); });
}

std::size_t Subscriptions::NumberWatched() const {
  return static_cast<std::size_t>(
      std::count_if(entries_.begin(), entries_.end(),
                    [](const QueueSubscription* entry) { return entry->watch_ != nullptr; }));
}

void Subscriptions::OnWatchOver(bool passed) {
  if (passed && most_watched_ < std::numeric_limits<std::size_t>::max()) ++most_watched_;
  StartWaiting();
}

// The subscription that has waited longest goes first, so that failures of one do not delay others.
void Subscriptions::StartWaiting() {
  std::vector<QueueSubscription*> waiting;
  std::copy_if(entries_.begin(), entries_.end(), std::back_inserter(waiting),
               [](const QueueSubscription* entry) { return entry->waits_for_turn_; });
  std::sort(
      waiting.begin(), waiting.end(),
      [](const QueueSubscription* a, const QueueSubscription* b) { return a->due_ < b->due_; });
  for (QueueSubscription* entry : waiting) {
    if (NumberWatched() >= most_watched_) return;
    entry->waits_for_turn_ = false;
    entry->Subscribe();
  }
}

void Subscriptions::Forget() {
  ForEach([](QueueSubscription& subscription) { subscription.Forget(); });
}

QueueSubscription* Subscriptions::Find(std::uint64_t generation) {
  for (QueueSubscription* entry : entries_) {
    const Channel* const channel = entry->channel_.get();
    if (channel != nullptr && channel->generation() == generation) return entry;
  }
  return nullptr;
}

void Subscriptions::Ack(DeliveryTag tag) {
  if (QueueSubscription* entry = Find(tag.generation)) entry->Ack(tag.tag);
}

void Subscriptions::Reject(DeliveryTag tag, bool requeue) {
  if (QueueSubscription* entry = Find(tag.generation)) entry->Reject(tag.tag, requeue);
}

QueueSubscription::QueueSubscription(EventLoop& loop, Connection& connection,
                                     Subscriptions& subscriptions, Relay::Target relay_to,
                                     ConsumeParams params, SubscriptionListener* listener)
    : loop_(loop),
      connection_(connection),
      subscriptions_(subscriptions),
      params_(WithConsumerTag(std::move(params))),
      first_prefetch_(params_.prefetch),
      most_unsettled_(MostUnsettled(params_.prefetch)),
      next_one_at_a_time_(kFirstOneAtATime),
      next_fewer_for_(kFirstOneAtATime),
      listener_(listener),
      relay_to_(std::move(relay_to)),
      pauses_(kFirstPause, kLongestPause) {
  subscriptions_.entries_.push_back(this);
  if (connection_.is_open()) Subscribe();
}

QueueSubscription::~QueueSubscription() { Leave(); }

void QueueSubscription::Leave() {
  std::erase(subscriptions_.entries_, this);
  if (std::exchange(watch_, nullptr) != nullptr) subscriptions_.OnWatchOver(/*passed=*/false);
}

void QueueSubscription::Stop() {
  wanted_ = false;
  again_.reset();
  room_.reset();
  waits_for_turn_ = false;
}

void QueueSubscription::Subscribe() {
  channel_ = connection_.OpenChannel(this);
  prefetch_.reset();
  unsettled_ = 0;
  has_settled_ = false;
  StartConsumer();
}

// RabbitMQ allows another delivery when one with the same consumer tag is settled, even if that was
// delivered before the consumer was cancelled and started again. So a consumer with another
// prefetch gets another tag, if it is not too long.
std::string QueueSubscription::ConsumerTag() const {
  if (Prefetch() == first_prefetch_) return params_.consumer_tag;
  std::string tag = absl::StrCat(params_.consumer_tag, ".prefetch", Prefetch());
  return tag.size() <= kMaxNameSize ? tag : params_.consumer_tag;
}

void QueueSubscription::StartConsumer() {
  Watch(kWatchedUnanswered);
  consumer_ = Consumer::kStarting;
  if (broker_fails_ && !IsOneAtATime()) DelayDeliveries();
  // A prefetch applies to the consumers that are started after it is set.
  if (std::exchange(prefetch_, Prefetch()) != Prefetch()) {
    channel_->Qos(Prefetch(), [](const absl::Status&) {});
  }
  ConsumeParams params = params_;
  params.consumer_tag = consumer_tag_ = ConsumerTag();
  channel_->Consume(params, [this](const absl::StatusOr<std::string>& tag) {
    if (tag.ok()) return OnConsuming();
    refusal_ = tag.status();  // OnChannelClosed follows
  });
}

void QueueSubscription::OnConsuming() {
  consumer_ = Consumer::kStarted;
  Watch(kWatched);
  if (delivery_delay_ != nullptr) DelayDeliveries();
  pauses_.Succeeded(loop_.clock().SinceBoot());
  if (!cancelled_.empty() || !unread_.empty()) CancelConsumer();
  listener_->OnSubscribed();
}

void QueueSubscription::Watch(absl::Duration patience) {
  CallAfter(loop_, patience, watch_, [this, passed = patience == kWatched] {
    if (passed) may_be_cause_ = false;
    subscriptions_.OnWatchOver(passed);
  });
}

void QueueSubscription::OnConnectionOpen() {
  if (!wanted_ || channel_ != nullptr) return;
  if (!may_be_cause_) return Subscribe();
  waits_for_turn_ = due_ <= loop_.clock().SinceBoot();
  if (!waits_for_turn_) SubscribeAfterPause();
}

void QueueSubscription::OnConnectionLost(const absl::Status& why) {
  again_.reset();
  waits_for_turn_ = false;
  // If there is a channel, it reports the loss itself.
  if (channel_ == nullptr && wanted_) listener_->OnInterrupted(why);
}

void QueueSubscription::OnDelivery(std::string_view, MessagePtr message) {
  if (++unsettled_ > most_unsettled_) {
    return connection_.Reconnect(absl::ResourceExhaustedError(
        absl::StrCat("consuming queue '", params_.queue, "': the broker has delivered ", unsettled_,
                     " messages that are not acked, with a prefetch of ", params_.prefetch)));
  }
  if (relay_ != nullptr && relay_->Take(message)) return;
  const std::uint64_t tag = message->delivery_tag.tag;
  const bool is_small = message->left_out > 0 && message->left_out <= MaxBody();
  if (is_small && (tag == has_no_room_ || *bodies_ > 0)) return OnNoRoom(tag);
  // Smaller bodies do not count.
  if (message->body.size() >= ChannelListener::kLeastAnnounced) message = Counted(message);
  Deliver(std::move(message));
}

void QueueSubscription::Deliver(MessagePtr&& message) {
  if (delivery_delay_ != nullptr) {
    delayed_.push_back(std::move(message));
  } else {
    listener_->OnDelivery(std::move(message));
  }
}

std::shared_ptr<BodySink> QueueSubscription::OnBody(const MessagePtr& message, std::uint64_t size) {
  if (message->left_out == 0) {
    if (*bodies_ + size <= 2 * MaxBody()) return nullptr;
    has_no_room_ = message->delivery_tag.tag;
    return std::make_shared<DiscardingSink>();
  }
  PublishParams copy;
  if (!listener_->PassOn(message, &copy)) return nullptr;
  if (relay_ == nullptr) {
    const Relay::Done deliver = [this, alive = std::weak_ptr(alive_)](MessagePtr passed_on) {
      if (alive.expired() || channel_ == nullptr || closed_ != nullptr) return;
      if (passed_on->delivery_tag.generation != channel_->generation()) return;
      Deliver(std::move(passed_on));
    };
    relay_ = std::make_unique<Relay>(loop_, loop_, loop_.clock(), relay_to_, deliver);
  }
  return relay_->Begin(message, copy);
}

std::uint64_t QueueSubscription::MaxBody() const {
  return params_.max_body == 0 ? kMaxBodySize : params_.max_body;
}

std::uint16_t QueueSubscription::Prefetch() const {
  if (IsOneAtATime()) return 1;
  if (fewer_for_ == 0) return params_.prefetch;
  return params_.prefetch == 0 ? fewer_ : std::min(fewer_, params_.prefetch);
}

MessagePtr QueueSubscription::Counted(const MessagePtr& message) const {
  const std::uint64_t size = message->body.size();
  *bodies_ += size;
  return {message.get(), [bodies = bodies_, size, message = message](const Message*) mutable {
            message.reset();
            *bodies -= size;
          }};
}

// The message must not be requeued while the consumer exists, because the consumer would get it
// again.
void QueueSubscription::OnNoRoom(std::uint64_t tag) {
  unread_.push_back(tag);
  if (consumer_ == Consumer::kStarted) CancelConsumer();
}

void QueueSubscription::RequeueUnread() {
  if (unread_.empty()) return;
  const std::size_t kept = unsettled_ - std::min(unsettled_, unread_.size());
  for (const std::uint64_t tag : std::exchange(unread_, {})) Reject(tag, /*requeue=*/true);
  fewer_ = static_cast<std::uint16_t>(
      std::clamp<std::size_t>(kept / 2, 1, std::numeric_limits<std::uint16_t>::max()));
  fewer_for_ = std::exchange(next_fewer_for_, std::min(2 * next_fewer_for_, kMostOneAtATime));
}

// Bodies are freed on any thread, so the free memory is checked repeatedly.
void QueueSubscription::AwaitRoom() {
  if (*bodies_ <= MaxBody()) return StartConsumer();
  CallAfter(loop_, kLookForRoom, room_, [this] { AwaitRoom(); });
}

// A settlement that is sent twice would make the broker close the channel.
void QueueSubscription::Ack(std::uint64_t tag) {
  channel_->Ack(tag);
  if (broker_fails_) {
    pauses_.Restart();
    connection_.RestartPauses();
  }
  OnSettled();
}

void QueueSubscription::Reject(std::uint64_t tag, bool requeue) {
  channel_->Reject(tag, requeue);
  OnSettled();
}

void QueueSubscription::OnBrokerFailed() {
  if (!broker_fails_ || one_at_a_time_ == 0) {
    one_at_a_time_ =
        std::exchange(next_one_at_a_time_, std::min(2 * next_one_at_a_time_, kMostOneAtATime));
  }
  const bool was_alone = broker_fails_ && prefetch_ == 1;
  without_settlement_ = !was_alone ? 0 : has_settled_ ? 1 : without_settlement_ + 1;
  broker_fails_ = true;
}

void QueueSubscription::OnSettled() {
  if (unsettled_ > 0) --unsettled_;
  has_settled_ = true;
  const bool is_started = consumer_ == Consumer::kStarted;
  if (is_started && fewer_for_ > 0 && --fewer_for_ == 0) return CancelConsumer();
  if (!IsOneAtATime() || --one_at_a_time_ > 0 || consumer_ != Consumer::kStarted) return;
  CancelConsumer();
}

void QueueSubscription::DelayDeliveries() {
  CallAfter(loop_, kDeliveryDelay, delivery_delay_, [this] { PassOnDelayed(); });
}

// The listener may destroy or close this object.
void QueueSubscription::PassOnDelayed() {
  broker_fails_ = false;
  const std::weak_ptr<bool> alive = alive_;
  for (MessagePtr& message : std::exchange(delayed_, {})) {
    listener_->OnDelivery(std::move(message));
    if (alive.expired() || channel_ == nullptr || closed_ != nullptr) return;
  }
}

void QueueSubscription::RequeueDelayed() {
  delivery_delay_.reset();
  for (const MessagePtr& message : std::exchange(delayed_, {})) {
    Reject(message->delivery_tag.tag, /*requeue=*/true);
  }
}

void QueueSubscription::OnConsumerCancelled(std::string_view) {
  Interrupt(absl::AbortedError(absl::StrCat(
      "consuming queue '", params_.queue,
      "': the broker ended the consumer, as it does when the queue is deleted or moves")));
}

void QueueSubscription::OnChannelClosed(const ChannelError& why) {
  absl::Status status =
      WithContext(absl::StrCat("consuming queue '", params_.queue, "'"), why.status);
  const absl::Status refusal = std::exchange(refusal_, absl::OkStatus());
  int pause_factor = 1;
  if (why.code == static_cast<std::uint16_t>(ReplyCode::kInternalError) &&
      absl::IsFailedPrecondition(refusal) && unsettled_ == 0) {
    status = absl::AbortedError(refusal.message());
    pause_factor = kPauseFactorIfConnectionEnds;
  } else if (why.code == static_cast<std::uint16_t>(ReplyCode::kInternalError)) {
    OnBrokerFailed();
    status = absl::InternalError(status.message());
  }
  Interrupt(status, pause_factor);
}

void QueueSubscription::Interrupt(const absl::Status& why, int pause_factor) {
  channel_.reset();
  delivery_delay_.reset();
  delayed_.clear();
  unread_.clear();
  room_.reset();
  relay_.reset();
  consumer_ = Consumer::kNone;
  if (closed_ != nullptr) return std::exchange(closed_, nullptr)();
  const absl::Duration now = loop_.clock().SinceBoot();
  const bool was_watched = watch_ != nullptr;
  watch_.reset();
  may_be_cause_ = !connection_.is_open() && was_watched;
  if (may_be_cause_) ++subscriptions_.new_possible_causes_;
  if (connection_.is_open() || may_be_cause_) {
    due_ = now + pause_factor * pauses_.Next(now, loop_.random());
  }
  // This consumer is not watched any more, so another one may start.
  if (connection_.is_open() && was_watched) {
    Defer([this] { subscriptions_.OnWatchOver(/*passed=*/false); });
  }
  if (connection_.is_open() && wanted_) SubscribeAfterPause();
  const std::weak_ptr<bool> alive = alive_;
  listener_->OnInterrupted(why);
  if (!alive.expired()) OnNothingMore();
}

// The pause continues while connections are lost and opened: another consumer may cause that.
void QueueSubscription::SubscribeAfterPause() {
  const absl::Duration left = due_ - loop_.clock().SinceBoot();
  CallAfter(loop_, std::max(left, absl::ZeroDuration()), again_, [this] {
    if (!may_be_cause_) return Subscribe();
    waits_for_turn_ = true;
    subscriptions_.StartWaiting();
  });
}

// Called for the broker's reply to a cancel, or for an earlier end of the channel.
void QueueSubscription::OnNothingMore() {
  const std::weak_ptr<bool> alive = alive_;
  for (const std::function<void()>& cancelled : std::exchange(cancelled_, {})) {
    cancelled();
    if (alive.expired()) return;
  }
}

void QueueSubscription::Defer(std::function<void()> work) {
  loop_.executor()->Post([weak = std::weak_ptr(alive_), work = std::move(work)] {
    if (!weak.expired()) work();
  });
}

void QueueSubscription::Cancel(std::function<void()> cancelled) {
  Stop();
  if (channel_ == nullptr || consumer_ == Consumer::kNone) return Defer(std::move(cancelled));
  cancelled_.push_back(std::move(cancelled));
  if (consumer_ != Consumer::kStarted) return;
  CancelConsumer();
  RequeueDelayed();
}

void QueueSubscription::CancelConsumer() {
  consumer_ = Consumer::kCancelling;
  channel_->Cancel(consumer_tag_, [this](const absl::Status& answer) {
    if (answer.ok()) OnCancelled();  // else OnChannelClosed follows
  });
}

void QueueSubscription::OnCancelled() {
  consumer_ = Consumer::kNone;
  const bool had_no_room = !unread_.empty();
  RequeueUnread();
  const std::weak_ptr<bool> alive = alive_;
  OnNothingMore();
  if (alive.expired() || consumer_ != Consumer::kNone) return;
  if (!wanted_ || channel_ == nullptr || closed_ != nullptr) return;
  had_no_room ? AwaitRoom() : StartConsumer();
}

void QueueSubscription::Resume(std::uint16_t prefetch) {
  params_.prefetch = prefetch;
  most_unsettled_ = std::max(most_unsettled_, MostUnsettled(prefetch));
  if (std::exchange(wanted_, true)) return;
  if (channel_ != nullptr) {
    if (consumer_ == Consumer::kNone) StartConsumer();
  } else if (connection_.is_open()) {
    may_be_cause_ ? SubscribeAfterPause() : Subscribe();
  }
}

void QueueSubscription::Close(std::function<void()> closed) {
  Stop();
  delivery_delay_.reset();
  Leave();
  relay_.reset();
  if (channel_ == nullptr) return Defer(std::move(closed));
  if (closed_ != nullptr) {
    closed_ = [first = std::move(closed_), second = std::move(closed),
               alive = std::weak_ptr(alive_)] {
      first();
      if (!alive.expired()) second();
    };
    return;
  }
  closed_ = std::move(closed);
  channel_->Close([this] {
    if (closed_ != nullptr) std::exchange(closed_, nullptr)();
  });
}

void QueueSubscription::Forget() {
  Stop();
  watch_.reset();
  delivery_delay_.reset();
  channel_.reset();
  relay_.reset();
}

}  // namespace retryq::amqp
