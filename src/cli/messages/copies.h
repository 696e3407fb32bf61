#ifndef RETRYQ_CLI_MESSAGES_COPIES_H_
#define RETRYQ_CLI_MESSAGES_COPIES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "retryq/amqp/connection.h"
#include "retryq/amqp/message.h"
#include "retryq/amqp/properties.h"
#include "retryq/broker.h"
#include "retryq/copy_properties.h"
#include "retryq/event_loop.h"

namespace retryq::cli {

class QueueReader;

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

// Spreads steps evenly over time. Later steps make up for a delay, as timers cause it, but only for
// up to `kSlack`: a pause of a minute is not followed by a burst.
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

// Removes messages from a queue that a reader reads, at a limited rate. A message is removed once
// its copy is confirmed and was not returned; without copies, once it is saved. Otherwise it is
// kept, and counted with the reason.
class Remover {
 public:
  struct Options {
    double rate = 0;             // per second; 0: unlimited
    std::uint16_t window = 256;  // copies that are unconfirmed at a time
    std::string again;           // remedy once the target has room: "replay again"
    std::string elsewhere;       // remedy if the target does not exist
    // Saves messages before they are removed without a copy. An error ends the reader.
    std::function<absl::Status(const std::vector<amqp::MessagePtr>& messages)> save;
    // Receives each removed message.
    std::function<void(const amqp::Message&)> on_removed;
  };

  // `loop` and `reader` must outlive it.
  Remover(EventLoop& loop, QueueReader& reader, Options options)
      : loop_(loop), reader_(reader), options_(std::move(options)), pacer_(options_.rate) {}

  // `copy.message` is a message that the reader has shown, or a replacement with the same delivery
  // tag.
  void Send(MessageCopy copy);

  // Permanently removes a message, without a copy.
  void Discard(amqp::MessagePtr message);

  // Starts no more copies; waiting messages are kept.
  void Abandon();

  // The total size of the waiting bodies.
  std::size_t waiting_bytes() const { return waiting_bytes_; }

  std::uint64_t removed() const { return removed_; }
  // The number of copies by target.
  const std::map<CopyTarget, std::uint64_t>& targets() const { return targets_; }
  // The number of kept messages by reason, which includes the remedy.
  const std::map<std::string, std::uint64_t>& kept() const { return kept_; }
  // The number of kept or open messages whose copy may have arrived.
  std::uint64_t in_doubt() const { return in_doubt_ + open_; }

 private:
  struct Turn {
    MessageCopy copy;
    bool is_published;
  };

  void Enqueue(Turn turn);
  void Advance();
  void SaveAndRemove(const std::vector<amqp::MessagePtr>& messages);
  void Remove(const amqp::MessagePtr& message);
  void Publish(MessageCopy copy);
  void NoteFailure(const CopyTarget& target, const PublishResult& result);

  EventLoop& loop_;
  QueueReader& reader_;
  const Options options_;
  Pacer pacer_;
  std::unique_ptr<Timer> again_;
  std::deque<Turn> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::uint64_t open_ = 0;  // copies under way
  bool abandoned_ = false;

  std::uint64_t removed_ = 0;
  std::uint64_t in_doubt_ = 0;
  std::map<CopyTarget, std::uint64_t> targets_;
  std::map<std::string, std::uint64_t> kept_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MESSAGES_COPIES_H_
