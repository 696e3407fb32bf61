#ifndef RETRYQ_CLI_MESSAGES_MESSAGE_READER_H_
#define RETRYQ_CLI_MESSAGES_MESSAGE_READER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "cli/messages/copy_publisher.h"
#include "cli/messages/delivery_limit.h"
#include "cli/messages/progress.h"
#include "cli/text/waiting.h"
#include "retryq/amqp/connection.h"
#include "retryq/event_loop.h"

namespace retryq::cli {

// Is shown the messages of a queue. Each is answered by one call of MessageReader::Keep or
// MessageReader::Take, at once or later.
class MessageVisitor {
 public:
  virtual ~MessageVisitor() = default;
  virtual void OnMessage(amqp::MessagePtr message) = 0;
  // It ends too early. No further message comes; those that nothing has been begun with are to be
  // answered now.
  virtual void OnAbandoned() {}
};

// Goes once through what a queue held when it began, and leaves there what nobody takes.
//
// Messages are consumed and stay unacked, so that none is seen twice, until the broker puts them
// back at the end. At most `window` of them are with one consumer; when all of those are kept, the
// next consumer takes over, and their bodies are not in memory here. A channel is left to what it
// has after some thousand, as the broker walks past all of that to find what is acked. What goes
// wrong, and a death at any moment, puts all back that is not acked.
//
// What another consumer has cannot be seen. The reader waits some seconds for it to be back, as it
// is when another command has just ended.
//
// A quorum queue counts how often it has taken a message back, and drops it when that exceeds its
// delivery limit. A message whose count has reached `move_at` is therefore put behind the others by
// a copy, confirmed before the original is acked; the copy counts from 0. Of a delay queue nothing
// is moved: see `Place::kExact`.
class MessageReader final : private amqp::ConnectionListener, private amqp::ChannelListener {
 public:
  // Where what is kept shall be in the queue afterwards.
  enum class Place {
    kAny,
    // Where it was, in front of all that comes later. Messages expire at the head of a delay queue
    // only, so one in the wrong place holds up others. Before 4.3 a quorum queue without a delivery
    // limit puts what is given back behind all others, and what a connection had that has ended in
    // front. From 4.3 on it always goes to the front, and a connection that has ended counts as a
    // failure (F41 in doc/rabbitmq_facts.md). What several consumers had can get out of order, so
    // there is one.
    kExact,
  };

  struct Options {
    amqp::ConnectionOptions connection;
    std::string queue;
    std::uint16_t window = 256;           // above zero
    std::optional<std::int64_t> move_at;  // from 1; none = nothing is moved
    Place place = Place::kAny;
    // How long messages are held: then nothing more is begun, and what is kept is put back.
    absl::Duration longest = absl::InfiniteDuration();
    // As the management API knows them, if it does.
    std::optional<QueueFigures> figures;
    // What kNotFound says behind the name of the queue.
    std::string if_missing;
  };

  // All must outlive it.
  MessageReader(EventLoop& loop, Options options, MessageVisitor& visitor, Progress& progress);
  ~MessageReader() override;

  // Goes through the queue until its end, an error or a signal: after the first one what is under
  // way is finished, after the second it is left. kCancelled for a signal. Once.
  absl::Status Run();

  // It stays parked.
  void Keep(const amqp::MessagePtr& message);
  // It is acked: gone.
  void Take(const amqp::MessagePtr& message);

  // No more messages are wanted than have been shown.
  void Stop();

  // Ends before all has been seen, without an error: for another reader to go on.
  void CutShort();

  // For copies that are to be confirmed before their originals are taken.
  CopyPublisher& publisher() { return *publisher_; }

  bool began() const { return began_; }  // it has seen the queue
  // Messages are left that were not shown, or for which there was no time.
  bool cut_short() const { return cut_short_; }
  std::uint64_t total() const { return total_; }  // messages in the queue when it began
  std::uint64_t seen() const { return seen_; }    // shown to the visitor
  std::uint64_t moved() const { return moved_; }
  // Others have had messages of it, for longer than was waited for.
  bool others_hold() const { return others_hold_; }
  std::uint32_t other_consumers() const { return other_consumers_; }  // when it began

 private:
  enum class Consumer { kNone, kStarting, kActive, kCancelling };

  void OnOpen() override;
  void OnLost(const absl::Status& why) override;
  void OnBlocked(bool blocked, std::string_view reason) override;
  void OnDelivery(std::string_view consumer_tag, amqp::MessagePtr message) override;
  void OnConsumerCancelled(std::string_view consumer_tag) override;
  void OnChannelClosed(const amqp::ChannelError& why) override;

  void LookAtQueue();
  void Begin(const absl::StatusOr<DeclareOk>& queue);
  bool IsAllThere(const DeclareOk& queue) const;
  void OpenChannel();
  void RotateChannel();
  amqp::Channel& ChannelOf(const amqp::Message& message);
  void StartConsumer();
  void CancelConsumer();
  // Does what is to be done next, if anything.
  void Step();
  bool MayCancel() const;
  void StepInPlace();
  void Abandon(const absl::Status& why);
  void Move(const amqp::MessagePtr& message);
  bool GivesBack() const;
  void PutBack();
  void CloseChannels();
  void EndConnection();
  absl::Duration PatienceForReturn() const;
  void AwaitReturn(absl::Duration since);
  std::uint64_t LeftInQueue() const;
  void Finish();
  void Abort(const absl::Status& error);

  void Tick();
  void LookForEnd();
  absl::Duration Now() const { return loop_.clock().SinceBoot(); }

  EventLoop& loop_;
  const Options options_;
  MessageVisitor& visitor_;
  Progress& progress_;
  std::optional<Waiting> waiting_;  // for the queue to be there
  std::optional<amqp::Connection> connection_;
  std::optional<amqp::Connection> afterwards_;  // to see that all is back
  std::unique_ptr<amqp::Channel> channel_;      // that the queue is consumed on
  std::uint64_t on_channel_ = 0;                // messages that it has brought
  // Those before it, with what they have. From the oldest on.
  std::deque<std::unique_ptr<amqp::Channel>> earlier_;
  std::optional<CopyPublisher> publisher_;

  Consumer consumer_ = Consumer::kNone;
  std::string consumer_tag_;
  std::uint64_t unacked_ = 0;  // of what this consumer has got
  std::uint64_t held_ = 0;     // of these, what stays so

  bool began_ = false;
  std::uint64_t total_ = 0;
  std::uint64_t seen_ = 0;
  std::uint64_t kept_ = 0;
  std::uint64_t moved_ = 0;
  std::uint64_t late_ = 0;       // came while ending, copies of moved ones among them
  std::uint64_t undecided_ = 0;  // shown and not answered yet
  std::uint64_t moving_ = 0;

  bool ending_ = false;                       // no message is shown any more
  bool nothing_left_ = false;                 // the queue has nothing more to deliver
  std::vector<amqp::MessagePtr> bystanders_;  // that came while ending
  int empty_looks_ = 0;
  bool looking_ = false;
  std::uint32_t other_consumers_ = 0;
  bool others_hold_ = false;
  std::optional<absl::Duration> looks_since_;  // for the first time
  absl::Duration began_at_;
  absl::Duration last_delivery_;
  absl::Duration ending_since_;

  bool cut_short_ = false;
  bool finished_ = false;
  bool closing_ = false;
  bool closed_ = false;  // nothing is listened to any more
  bool is_blocked_ = false;
  absl::Status error_;  // the first one
  std::unique_ptr<Timer> tick_;
  std::unique_ptr<Timer> return_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MESSAGES_MESSAGE_READER_H_
