#include "cli/messages/queue_reader.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/broker_version.h"
#include "base/remedy.h"
#include "cli/connect/broker_session.h"
#include "cli/messages/message_text.h"
#include "retryq/consumer.h"

namespace retryq::cli {
namespace {

constexpr absl::Duration kTick = absl::Milliseconds(100);
// After this time without a delivery, the queue may be empty.
constexpr absl::Duration kQuiet = absl::Milliseconds(400);
constexpr absl::Duration kQuietAtTheEnd = absl::Milliseconds(50);
constexpr int kEmptyLooks = 2;
// The longest time without a delivery although the queue has messages.
constexpr absl::Duration kPatienceWithQueue = absl::Seconds(60);
// The time for messages in transit to arrive before a consumer is cancelled.
constexpr absl::Duration kFill = absl::Seconds(5);
// The time for others to requeue their messages. The figures of the management API are five seconds
// old.
constexpr absl::Duration kPatienceWithOthers = absl::Seconds(6);
constexpr absl::Duration kLookAtOthers = absl::Milliseconds(100);
// A channel has at least this part of all messages, so that the number of channels is limited.
constexpr std::uint64_t kMostChannels = 128;
// The window of a collecting consumer. The broker searches the unacked messages of a channel for
// each one that is acked, which takes longer the more there are; but each consumer costs it some
// milliseconds.
constexpr std::uint16_t kCollectingWindow = 400;
// The size of the bodies of a window, at most.
constexpr std::size_t kMostBodies = std::size_t{64} << 20;
// The time for the broker to requeue unacked messages, and the interval of checks.
constexpr absl::Duration kReturn = absl::Seconds(20);
constexpr absl::Duration kReturnAfterError = absl::Seconds(5);
// For a delay queue, in which requeued messages may be due at once.
constexpr absl::Duration kReturnToDelay = absl::Milliseconds(500);
constexpr absl::Duration kReturnLook = absl::Milliseconds(20);
constexpr absl::Duration kClose = absl::Seconds(5);
// After a signal, the rest is abandoned if no copy is confirmed for this time.
constexpr absl::Duration kLongestUnconfirmed = absl::Seconds(5);

// Adds the remedy to a fatal error. `reached`: whether the broker was reached.
absl::Status Explained(const absl::Status& error, bool reached) {
  const std::string message(error.message());
  if (absl::IsUnavailable(error) && !reached) return WithRemedy(error, UnreachableRemedy(message));
  if (!absl::IsPermissionDenied(error)) return error;
  if (absl::StrContains(message, "access to queue")) {
    return WithRemedy(error, GrantRemedy("'read' on the queue"));
  }
  if (absl::StrContains(message, "access to exchange")) {
    return WithRemedy(error, GrantRemedy("'write' on the exchange"));
  }
  return error;
}

}  // namespace

QueueReader::QueueReader(EventLoop& loop, Options options)
    : loop_(loop), options_(std::move(options)), progress_(Progress::OnStderr(options_.queue)) {
  connection_.emplace(loop, options_.connection, static_cast<amqp::ConnectionListener*>(this));
}

QueueReader::~QueueReader() {
  // The connection ends before the channel, whose end would requeue its messages.
  if (!RequeuesByChannel()) connection_.reset();
}

absl::Status QueueReader::Run() {
  const std::shared_ptr<void> drain = loop_.OnDrain([this](const EventLoop::DrainDone&) {
    const absl::Status interrupted = absl::CancelledError("interrupted");
    channel_ != nullptr ? Abandon(interrupted) : Abort(interrupted);
    waiting_.emplace(loop_, amqp::Describe(options_.connection));
    waiting_->Because("it has not answered yet; a second signal does not wait for it");
    WatchStop();
  });
  waiting_.emplace(loop_, amqp::Describe(options_.connection));
  Tick();
  const HeldSignals signals(loop_);
  absl::Status run = loop_.RunUntilSignal();
  waiting_.reset();
  tick_.reset();
  step_.reset();
  return_.reset();
  stop_watch_.reset();
  progress_.End();
  // From here on nothing is confirmed or acked.
  finished_ = closed_ = true;
  options_.on_abandoned();
  publisher_.reset();
  for (auto* connection : {&connection_, &afterwards_}) {
    if (*connection) SayGoodbye(loop_, **connection);
  }
  return Explained(error_.ok() ? run : error_, channel_ != nullptr);
}

// A broker that confirms nothing, as during an alarm, must not use up the grace period.
void QueueReader::WatchStop() {
  stop_watch_ = loop_.After(kLongestUnconfirmed, [this, before = undecided_ + moving_] {
    const std::unique_ptr<Timer> fired = std::move(stop_watch_);
    const std::uint64_t open = undecided_ + moving_;
    if (open == 0 || open != before) return WatchStop();
    error_ = absl::CancelledError("interrupted; the broker confirms no more copies");
    loop_.Stop();
  });
}

void QueueReader::OnOpen() {
  if (afterwards_) {
    channel_ = afterwards_->OpenChannel(this);
    return AwaitReturn(Now());
  }
  if (channel_ != nullptr) return;
  began_at_ = Now();
  publisher_.emplace(loop_, *connection_, [this](const absl::Status& why) { Abandon(why); });
  OpenChannel();
  LookBeforeBegin();
}

void QueueReader::OpenChannel() {
  channel_ = connection_->OpenChannel(this);
  on_channel_ = 0;
}

// Opens the next channel if the current one has had its part. If no further channel can be opened,
// the current one stays in use.
bool QueueReader::RotateChannel() {
  if (on_channel_ <= total_ / kMostChannels) return false;
  const std::uint64_t brought = on_channel_;
  std::unique_ptr<amqp::Channel> former = std::move(channel_);
  OpenChannel();
  if (channel_->is_open()) {
    earlier_.push_back(std::move(former));
    return true;
  }
  channel_ = std::move(former);
  on_channel_ = brought;
  return false;
}

// Whether the present consumer received it, and not an earlier one.
bool QueueReader::IsOfConsumer(const amqp::Message& message) const {
  return message.delivery_tag.generation == channel_->generation() &&
         message.delivery_tag.tag > before_consumer_;
}

void QueueReader::Ack(const amqp::Message& message) {
  if (IsOfConsumer(message)) --unacked_;
  const auto earlier = std::find_if(earlier_.begin(), earlier_.end(), [&](const auto& channel) {
    return channel->generation() == message.delivery_tag.generation;
  });
  (earlier == earlier_.end() ? *channel_ : **earlier).Ack(message.delivery_tag.tag);
}

void QueueReader::LookAtQueue(Looked done) {
  channel_->DeclareQueue({.name = options_.queue, .passive = true}, std::move(done));
}

void QueueReader::LookBeforeBegin() {
  LookAtQueue([this](const absl::StatusOr<DeclareOk>& queue) {
    if (finished_) return;
    if (queue.ok()) return Begin(*queue);
    Abort(absl::IsNotFound(queue.status())
              ? absl::NotFoundError(
                    absl::StrCat("there is no queue '", options_.queue, "'", options_.if_missing))
              : queue.status());
  });
}

// Only the management API reports unacked messages, and late. Without consumers there are hardly
// any.
bool QueueReader::IsAllThere(const DeclareOk& queue) const {
  if (options_.figures && queue.message_count >= options_.figures->all) return true;
  return queue.consumer_count == 0 && (!options_.figures || options_.figures->unacked == 0);
}

void QueueReader::OnLost(const absl::Status& why) {
  Abort(absl::Status(
      why.code(),
      absl::StrCat(
          std::string(why.message()),
          channel_ == nullptr ? "" : "; messages that were not acked are in the queue again")));
}

void QueueReader::OnBlocked(bool blocked, std::string_view reason) {
  is_blocked_ = blocked;
  progress_.Say(blocked
                    ? absl::StrCat("the broker accepts no messages for now: ", std::string(reason),
                                   "; waiting")
                    : "the broker accepts messages again");
}

void QueueReader::Begin(const DeclareOk& queue) {
  if (!looks_since_) looks_since_ = Now();
  const bool is_all_there = IsAllThere(queue);
  // Another consumer may have taken messages after these figures.
  others_hold_ = !is_all_there || queue.consumer_count > 0;
  if (!is_all_there && Now() - *looks_since_ < kPatienceWithOthers && error_.ok()) {
    waiting_->Because("another consumer has messages of the queue");
    return_ = loop_.After(kLookAtOthers, [this] { LookBeforeBegin(); });
    return;
  }
  waiting_.reset();
  began_ = true;
  total_ = queue.message_count;
  other_consumers_ = queue.consumer_count;
  began_at_ = last_delivery_ = Now();
  if (total_ == 0) Stop();
  Step();
}

void QueueReader::SetWindow() {
  const std::size_t fits = kMostBodies / std::max<std::size_t>(largest_body_, 1);
  const std::size_t most = seen_ == 0 ? 0 : options_.later_window;
  window_ = std::max(options_.window, static_cast<std::uint16_t>(std::min(fits, most)));
  if (collects_) window_ = kCollectingWindow;
  channel_->Qos(window_, [](const absl::Status&) {});
}

void QueueReader::StartConsumer() {
  collects_ = options_.may_collect && kept_ > 0;
  collected_bytes_ = 0;
  SetWindow();
  before_consumer_ = on_channel_;
  consumer_ = Consumer::kStarting;
  unacked_ = 0;
  held_ = 0;
  // The broker chooses the tag: a quorum queue takes a new consumer with an old tag for the old
  // one.
  channel_->Consume({.queue = options_.queue, .max_body = ConsumerOptions().max_body},
                    [this](const absl::StatusOr<std::string>& tag) {
                      if (!tag.ok()) return;  // OnChannelClosed follows
                      consumer_ = Consumer::kActive;
                      consumer_tag_ = *tag;
                      Step();
                    });
}

void QueueReader::CancelConsumer() {
  consumer_ = Consumer::kNone;
  ++cancelling_;
  channel_->Cancel(consumer_tag_, [this](const absl::Status& cancelled) {
    if (!cancelled.ok()) return;
    --cancelling_;
    Step();
  });
  ShowCollected();
  Step();
}

void QueueReader::ShowCollected() {
  if (ending_) return;  // they are kept at the end
  std::vector<amqp::MessagePtr> left;
  for (amqp::MessagePtr& message : std::exchange(unshown_, {})) {
    ending_ ? left.push_back(std::move(message)) : Show(std::move(message));
  }
  unshown_.insert(unshown_.begin(), left.begin(), left.end());
}

void QueueReader::Show(amqp::MessagePtr message) {
  if (message->left_out == 0) return options_.on_message(std::move(message));
  progress_.Say(absl::StrCat("a message of ", message->left_out,
                             " bytes is too large to be read and stays in the queue"));
  Keep(message);
}

void QueueReader::OnDelivery(std::string_view, amqp::MessagePtr message) {
  if (closed_) return;
  last_delivery_ = Now();
  empty_looks_ = 0;
  ++unacked_;
  ++on_channel_;
  if (ending_) ++late_;
  if (ending_ && options_.keep_order) {
    Hold(*message);
    return Step();
  }
  ++undecided_;
  largest_body_ = std::max(largest_body_, message->body.size());
  collected_bytes_ += message->body.size();
  // Taking one of them while ending would make the broker deliver another.
  if (ending_ || collects_) {
    unshown_.push_back(std::move(message));
  } else {
    Show(std::move(message));
  }
  if (collects_ && collected_bytes_ > kMostBodies) {
    collects_ = false;
    ShowCollected();
  }
  if (!ending_ && ++seen_ >= total_) EndOfQueue();
  Step();
}

void QueueReader::EndOfQueue() {
  nothing_left_ = true;
  ShowCollected();
  Stop();
}

void QueueReader::Keep(const amqp::MessagePtr& message) {
  --undecided_;
  if (options_.move_at && error_.ok() && message->left_out == 0 &&
      MessageHistory(*message).returns >= *options_.move_at) {
    Move(message);
  } else {
    Hold(*message);
  }
  Step();
}

void QueueReader::Hold(const amqp::Message& message) {
  ++kept_;
  if (IsOfConsumer(message)) ++held_;
}

void QueueReader::Take(const amqp::MessagePtr& message) {
  --undecided_;
  Ack(*message);
  Step();
}

void QueueReader::Move(const amqp::MessagePtr& message) {
  ++moving_;
  publisher_->Publish(
      {.message = message, .plan = {.path = CopyPath::kReturn}, .target = {"", options_.queue}},
      [this, message](const PublishResult& result) {
        --moving_;
        if (result.outcome == PublishOutcome::kConfirmed) {
          ++moved_;
          Ack(*message);
          return Step();
        }
        Hold(*message);
        Abandon(absl::FailedPreconditionError(absl::StrCat(
            "a message of queue '", options_.queue,
            "' was requeued so often that the delivery limit may soon drop it, and its copy could "
            "not be published",
            result.text.empty() ? "" : absl::StrCat(" (", std::string(result.text), ")"),
            ": reading stops; remedy: set a delivery limit of -1 by a policy")));
      });
}

void QueueReader::Stop() {
  if (std::exchange(ending_, true)) return;
  ending_since_ = Now();
  empty_looks_ = 0;
  Step();
}

void QueueReader::Abandon(const absl::Status& why) {
  if (closing_) return;
  if (error_.ok()) error_ = why;
  if (finished_) return;
  Stop();
  options_.on_abandoned();
  Step();
}

// Messages in transit when a consumer is cancelled are requeued unseen, and their count increases.
// So a consumer is cancelled when its window is full, or when all messages have been seen: later
// messages have rarely been delivered before.
//
// The channel of a quorum queue keeps acks back while many are under way, and drops them when it is
// closed. It sends them before a cancel, so all acks precede the cancel.
bool QueueReader::MayCancel() const {
  if (!ending_) return (collects_ ? unacked_ : held_) >= window_;
  if (undecided_ + moving_ > unshown_.size()) return false;
  return nothing_left_ || cut_short_ || unacked_ >= window_ || Now() - ending_since_ > kFill;
}

QueueReader::Action QueueReader::NextAction() const {
  if (channel_ == nullptr || finished_ || (!began_ && !ending_)) return Action::kNone;
  if (consumer_ == Consumer::kStarting) return Action::kNone;
  if (consumer_ == Consumer::kActive) {
    if (!MayCancel()) return Action::kNone;
    if (!options_.keep_order) return Action::kCancelConsumer;
    // Messages that the broker sends before it confirms a cancel can arrive after the confirmation,
    // and would be requeued before the others. So the consumer ends together with all its messages.
    if (!ending_) return Action::kCutShort;
  } else if (!ending_) {
    return undecided_ + moving_ > window_ ? Action::kNone : Action::kStartConsumer;
  } else if (cancelling_ == 0 && !unshown_.empty()) {
    return Action::kKeepUnshown;
  }
  return cancelling_ + undecided_ + moving_ == 0 ? Action::kRequeue : Action::kNone;
}

// Each action takes its own turn of the loop, so that it begins after the event that caused it.
void QueueReader::Step() {
  if (step_ || NextAction() == Action::kNone) return;
  step_ = loop_.After(absl::ZeroDuration(), [this] {
    const std::unique_ptr<Timer> fired = std::move(step_);
    switch (NextAction()) {
      case Action::kNone:
        return;
      case Action::kStartConsumer:
        // The broker's replies to several calls on one channel may be out of order.
        if (RotateChannel() || cancelling_ == 0) StartConsumer();
        return;
      case Action::kCancelConsumer:
        return CancelConsumer();
      case Action::kCutShort:
        return CutShort();
      case Action::kKeepUnshown:
        for (const amqp::MessagePtr& message : std::exchange(unshown_, {})) Keep(message);
        return;
      case Action::kRequeue:
        return Requeue();
    }
  });
}

void QueueReader::CutShort() {
  if (cut_short_ || finished_) return;
  cut_short_ = !ending_ || undecided_ > 0;
  Stop();
  options_.on_abandoned();
  Step();
}

// Whether the messages are requeued by closing their channels, and not the connection.
bool QueueReader::RequeuesByChannel() const {
  return !options_.keep_order || !connection_ ||
         BrokerVersion::Parse(connection_->server_version()).CountsFailuresOnly();
}

absl::Duration QueueReader::PatienceForReturn() const {
  if (options_.longest != absl::InfiniteDuration()) return kReturnToDelay;
  return error_.ok() ? kReturn : kReturnAfterError;
}

void QueueReader::Requeue() {
  finished_ = true;
  return_.reset();
  consumer_ = Consumer::kNone;
  if (options_.may_collect && other_consumers_ == 0) {
    // A classic queue sorts its messages. It walks past all earlier ones that are back already.
    earlier_.push_back(std::move(channel_));
    std::reverse(earlier_.begin(), earlier_.end());
    channel_ = std::move(earlier_.back());
    earlier_.pop_back();
  }
  RequeuesByChannel() ? CloseChannels() : EndConnection();
}

// Closes them one after the other, as their messages are requeued in that order.
void QueueReader::CloseChannels() {
  if (!earlier_.empty()) {
    earlier_.front()->Close([this] {
      earlier_.pop_front();
      CloseChannels();
    });
    return;
  }
  channel_->Close([this] {
    channel_ = connection_->OpenChannel(this);
    AwaitReturn(Now());
  });
}

void QueueReader::EndConnection() {
  closing_ = true;
  connection_->Close(kClose, [this] {
    channel_.reset();
    publisher_.reset();
    if (kept_ == 0 || other_consumers_ > 0) return loop_.Stop();
    closing_ = false;
    afterwards_.emplace(loop_, options_.connection, static_cast<amqp::ConnectionListener*>(this));
  });
}

// The minimum of ready messages once all are requeued: the kept ones, and the copies of the moved
// ones. This consumer may have received some of those copies, which then count as kept.
std::uint64_t QueueReader::LeftInQueue() const {
  return kept_ + (moved_ > late_ ? moved_ - late_ : 0);
}

// A quorum queue requeues messages a moment after their channel or connection is closed. Waits for
// it, so that the next look, by this or another command, finds all messages.
void QueueReader::AwaitReturn(absl::Duration since) {
  if (kept_ == 0 || other_consumers_ > 0) return Finish();
  LookAtQueue([this, since](const absl::StatusOr<DeclareOk>& queue) {
    if (!queue.ok() || queue->message_count >= LeftInQueue()) return Finish();
    if (Now() - since > PatienceForReturn()) {
      if (options_.longest == absl::InfiniteDuration() && error_.ok()) {
        error_ = absl::UnavailableError(absl::StrCat(
            LeftInQueue() - queue->message_count, " messages are not back in queue '",
            options_.queue, "' yet: the broker is slow; remedy: run the command again later"));
      }
      return Finish();
    }
    return_ = loop_.After(kReturnLook, [this, since] { AwaitReturn(since); });
  });
}

void QueueReader::Finish() {
  if (std::exchange(closing_, true)) return;
  (afterwards_ ? afterwards_ : connection_)->Close(kClose, [this] { loop_.Stop(); });
}

void QueueReader::OnConsumerCancelled(std::string_view) {
  Abort(absl::UnavailableError(absl::StrCat("the broker cancelled the consumer of queue '",
                                            options_.queue,
                                            "', as it does when the queue is deleted or moved")));
}

void QueueReader::OnChannelClosed(const amqp::ChannelError& why) {
  if (!closed_) Abort(why.status);
}

void QueueReader::Abort(const absl::Status& error) {
  if (finished_) return Finish();
  if (error_.ok()) error_ = error;
  finished_ = true;
  loop_.Stop();
}

void QueueReader::Tick() {
  tick_ = loop_.After(kTick, [this] {
    if (began_) progress_.Update(seen_ - std::min(undecided_, seen_), total_, Now() - began_at_);
    // RabbitMQ blocks only connections that have published.
    if (!began_ && channel_ != nullptr && Now() - began_at_ > kLongestSilence) {
      return Abort(absl::DeadlineExceededError(
          absl::StrCat("the broker has not answered within ", absl::FormatDuration(kLongestSilence),
                       "; remedy: check that the broker runs and is not overloaded")));
    }
    LookForEnd();
    if (began_ && Now() - began_at_ > options_.longest) CutShort();
    Step();
    Tick();
  });
}

// Another consumer may have taken the missing messages.
void QueueReader::LookForEnd() {
  if (consumer_ != Consumer::kActive || looking_ || is_blocked_ || nothing_left_) return;
  if (Now() - last_delivery_ < (ending_ ? kQuietAtTheEnd : kQuiet)) return;
  if (unacked_ >= window_) return;
  looking_ = true;
  LookAtQueue([this](const absl::StatusOr<DeclareOk>& queue) {
    looking_ = false;
    if (!queue.ok()) return;  // OnChannelClosed follows
    if (queue->message_count == 0 && ++empty_looks_ >= kEmptyLooks) {
      EndOfQueue();
      return Step();
    }
    if (queue->message_count == 0 || Now() - last_delivery_ < kPatienceWithQueue) return;
    Abandon(absl::FailedPreconditionError(absl::StrCat(
        queue->message_count, " messages are ready in queue '", options_.queue,
        "', and the broker delivers none of them: another consumer may be the only active one "
        "(x-single-active-consumer); remedy: stop that consumer")));
  });
}

}  // namespace retryq::cli
