#ifndef RETRYQ_CLI_MESSAGES_QUEUE_READER_H_
#define RETRYQ_CLI_MESSAGES_QUEUE_READER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "cli/messages/queue_facts.h"
#include "cli/text/io.h"
#include "retryq/amqp/connection.h"
#include "retryq/amqp/message.h"
#include "retryq/amqp/properties.h"
#include "retryq/broker/broker.h"
#include "retryq/broker/copy_properties.h"
#include "retryq/event_loop.h"

namespace retryq::cli {

// How a message is published again.
struct CopyPlan {
  CopyPath path = CopyPath::kReplay;
  absl::Time edited = absl::InfinitePast();  // with kEdit: sets x-retry-edited
  // With kRelease, to the parked queue: the time of parking, which adds the headers that a worker
  // sets when it parks, and the work queue of a message that has not failed yet.
  absl::Time parked = absl::InfinitePast();
  std::string work_queue = {};
};

// Returns the properties of a message that is published again: those that CopyProperties copies,
// and those that the plan adds. `*headers` must be empty; the result is a view of it and of the
// message.
amqp::Properties PropertiesOfCopy(const amqp::Message& message, const CopyPlan& plan,
                                  std::string* headers);

// An exchange and a routing key; "" is the default exchange, and the key names a queue.
using CopyTarget = std::pair<std::string, std::string>;

// "queue orders" or "exchange shop with routing key order.placed"; safe for a terminal.
std::string Describe(const CopyTarget& target);

struct MessageCopy {
  amqp::MessagePtr message;
  CopyPlan plan;
  CopyTarget target;
};

// Publishes copies of messages, mandatory and confirmed, on its own channel. Copies that cannot be
// sent yet wait, so that the unsent data is limited. The caller limits the number of copies.
class CopyPublisher final : private amqp::ChannelListener {
 public:
  using Done = std::function<void(const PublishResult&)>;

  // `connection` must be open and outlive it. If the broker closes the channel, `on_closed`
  // receives the reason after the open publishes have received their results; nothing can be
  // published any more.
  CopyPublisher(EventLoop& loop, amqp::Connection& connection,
                std::function<void(const absl::Status&)> on_closed);

  // `done` is called once, unless the publisher is destroyed first.
  void Publish(MessageCopy copy, Done done);

 private:
  void OnChannelClosed(const amqp::ChannelError& why) override;
  void Advance();

  EventLoop& loop_;
  amqp::Connection& connection_;
  const std::function<void(const absl::Status&)> on_closed_;
  std::unique_ptr<amqp::Channel> channel_;
  std::deque<std::pair<MessageCopy, Done>> line_;
  std::unique_ptr<Timer> again_;  // while copies wait for the network
};

// Spreads steps evenly over time. If a timer is late, the following steps catch up, but by at most
// `kSlack`, so that no burst follows a pause of a minute.
class Pacer {
 public:
  static constexpr absl::Duration kSlack = absl::Milliseconds(50);

  // Allows `rate` steps per second; 0: unlimited.
  explicit Pacer(double rate)
      : interval_(rate > 0 ? absl::Seconds(1) / rate : absl::ZeroDuration()) {}

  // Returns the time until the next step is allowed; zero or less: now. All times have the same
  // origin.
  absl::Duration Wait(absl::Duration now) const { return next_ - now; }

  void Step(absl::Duration now) { next_ = std::max(next_, now - kSlack) + interval_; }

 private:
  const absl::Duration interval_;
  absl::Duration next_ = -absl::InfiniteDuration();
};

// Reads once the messages that a queue contains at the start, and leaves those in the queue that
// are not taken.
//
// Messages are consumed and stay unacked, so that none is seen twice, until the broker requeues
// them at the end. One consumer has at most `window` of them. When all of those are kept, the next
// consumer takes over, on a channel of its own if there are not too many: the broker searches all
// unacked messages of a channel for each one that is acked. After an error, or if the process dies,
// the broker requeues all unacked messages.
//
// Once a message was kept, further consumers of a classic queue may collect: each receives a small
// window, is cancelled, and only then are its messages shown, so that none is in transit. The next
// one starts meanwhile.
//
// Messages that another consumer has cannot be seen. The reader waits some seconds for them to be
// requeued, which happens if another command has just ended. It ends when the messages that it
// leaves in the queue are ready again.
//
// A quorum queue counts how often it has requeued a message, and drops the message when the count
// exceeds the delivery limit. So a message whose count has reached `move_at` is moved behind the
// others: its copy is published and confirmed before the original is acked, and its count starts at
// 0. Messages of a delay queue are not moved: see `Options::keep_order`.
class QueueReader final : private amqp::ConnectionListener, private amqp::ChannelListener {
 public:
  struct Options {
    amqp::ConnectionOptions connection;
    std::string queue;
    std::uint16_t window = 256;  // of the first consumer; above zero
    // The window of later consumers, if bodies are small enough: most messages of a window may be
    // kept, and then few consumers are needed. 0: that of the first one.
    std::uint16_t later_window = 0;
    bool may_collect = false;  // for a classic queue whose messages are taken without pauses
    std::optional<std::int64_t> move_at;  // at least 1; not set: moves none
    // Kept messages get their previous position, before all later messages; otherwise any. Messages
    // expire only at the head of a delay queue, so a misplaced message delays others. Before 4.3, a
    // quorum queue without a delivery limit puts requeued messages behind all others, except those
    // of a connection that has ended, which go to the front. From 4.3 on requeued messages always
    // go to the front, and the end of a connection counts as a failure (F41 in
    // doc/rabbitmq_facts.md). Messages of several consumers can get out of order, so there is only
    // one consumer.
    bool keep_order = false;
    // The longest time that messages are held. Then the reader starts no more operations, and
    // requeues the kept messages.
    absl::Duration longest = absl::InfiniteDuration();
    std::optional<QueueFigures> figures;  // of the management API, if known
    std::string if_missing;               // follows the queue's name in a kNotFound error
    // Receives each message. It needs one call of Keep or Take, at once or later.
    std::function<void(amqp::MessagePtr message)> on_message;
    // The reader ends early and shows no further messages. Messages whose processing has not begun
    // need their call of Keep now.
    std::function<void()> on_abandoned;
  };

  // `loop` must outlive it.
  QueueReader(EventLoop& loop, Options options);
  ~QueueReader() override;

  // Reads the queue until its end, an error or a signal. After a first signal, operations that have
  // started are finished; after a second one they are abandoned. Returns kCancelled for a signal.
  // Call it once.
  absl::Status Run();

  // Leaves the message in the queue.
  void Keep(const amqp::MessagePtr& message);
  // Acks the message, which removes it.
  void Take(const amqp::MessagePtr& message);

  // Stops reading: no more messages are shown.
  void Stop();
  // Ends before all messages have been seen, without an error, so that another reader can continue.
  void CutShort();
  // Ends with this error. Operations that have started are finished.
  void Abandon(const absl::Status& why);

  // For copies that must be confirmed before their originals are taken.
  CopyPublisher& publisher() { return *publisher_; }

  bool began() const { return began_; }  // the queue was found
  // Messages remain that were not shown, or for which there was no time.
  bool cut_short() const { return cut_short_; }
  std::uint64_t total() const { return total_; }  // messages at the start
  // Other consumers had messages of the queue for longer than the reader waited.
  bool others_hold() const { return others_hold_; }

 private:
  enum class Consumer { kNone, kStarting, kActive };
  enum class Action { kNone, kStartConsumer, kCancelConsumer, kCutShort, kKeepUnshown, kRequeue };

  void OnOpen() override;
  void OnLost(const absl::Status& why) override;
  void OnBlocked(bool blocked, std::string_view reason) override;
  void OnDelivery(std::string_view consumer_tag, amqp::MessagePtr message) override;
  void OnConsumerCancelled(std::string_view consumer_tag) override;
  void OnChannelClosed(const amqp::ChannelError& why) override;

  using Looked = std::function<void(const absl::StatusOr<DeclareOk>& queue)>;
  void LookAtQueue(Looked done);
  void LookBeforeBegin();
  void Begin(const DeclareOk& queue);
  bool IsAllThere(const DeclareOk& queue) const;
  void OpenChannel();
  bool RotateChannel();
  void Ack(const amqp::Message& message);
  void SetWindow();
  bool IsOfConsumer(const amqp::Message& message) const;
  void StartConsumer();
  void CancelConsumer();
  void Show(amqp::MessagePtr message);
  void Hold(const amqp::Message& message);
  void ShowCollected();
  void EndOfQueue();
  // Decides what happens next; every event may change that.
  Action NextAction() const;
  // To be called after every event: starts the next action, if there is one.
  void Step();
  bool MayCancel() const;
  void Move(const amqp::MessagePtr& message);
  bool RequeuesByChannel() const;
  void Requeue();
  void CloseChannels();
  void EndConnection();
  absl::Duration PatienceForReturn() const;
  void AwaitReturn(absl::Duration since);
  std::uint64_t LeftInQueue() const;
  void Finish();
  void Abort(const absl::Status& error);
  void WatchStop();

  void Tick();
  void LookForEnd();
  absl::Duration Now() const { return loop_.clock().SinceBoot(); }

  EventLoop& loop_;
  const Options options_;
  Progress progress_;
  std::optional<Waiting> waiting_;  // reports waits before the start
  std::optional<amqp::Connection> connection_;
  std::optional<amqp::Connection> afterwards_;  // checks that all messages are requeued
  std::unique_ptr<amqp::Channel> channel_;      // on which the queue is consumed
  std::uint64_t on_channel_ = 0;                // messages delivered on it
  // The earlier channels, with their unacked messages. Oldest first.
  std::deque<std::unique_ptr<amqp::Channel>> earlier_;
  std::optional<CopyPublisher> publisher_;

  std::uint16_t window_ = 0;  // of the present consumer
  std::size_t largest_body_ = 0;
  Consumer consumer_ = Consumer::kNone;
  bool collects_ = false;              // this consumer
  std::size_t collected_bytes_ = 0;    // of the bodies that this consumer has received
  std::uint64_t before_consumer_ = 0;  // messages delivered on the channel before this consumer
  std::uint64_t cancelling_ = 0;       // consumers whose cancel is not confirmed
  std::string consumer_tag_;
  std::uint64_t unacked_ = 0;  // of the messages of this consumer
  std::uint64_t held_ = 0;     // of these, messages that stay unacked

  bool began_ = false;
  std::uint64_t total_ = 0;
  std::uint64_t seen_ = 0;  // messages shown
  std::uint64_t kept_ = 0;
  std::uint64_t moved_ = 0;
  std::uint64_t late_ = 0;       // delivered while ending, including copies of moved ones
  std::uint64_t undecided_ = 0;  // delivered, but neither kept nor taken yet
  std::uint64_t moving_ = 0;

  bool ending_ = false;        // no more messages are shown
  bool nothing_left_ = false;  // the queue has no more messages
  // Collected, or delivered while ending. When the reader ends, they are kept.
  std::vector<amqp::MessagePtr> unshown_;
  int empty_looks_ = 0;
  bool looking_ = false;
  std::uint32_t other_consumers_ = 0;  // at the start
  bool others_hold_ = false;
  std::optional<absl::Duration> looks_since_;  // start of the first check
  absl::Duration began_at_;
  absl::Duration last_delivery_;
  absl::Duration ending_since_;

  bool cut_short_ = false;
  bool finished_ = false;
  bool closing_ = false;
  bool closed_ = false;  // events are ignored
  bool is_blocked_ = false;
  absl::Status error_;           // the first error
  std::unique_ptr<Timer> step_;  // the next action
  std::unique_ptr<Timer> tick_;
  std::unique_ptr<Timer> return_;
  std::unique_ptr<Timer> stop_watch_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MESSAGES_QUEUE_READER_H_
