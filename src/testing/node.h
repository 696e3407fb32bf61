#ifndef RETRYQ_SRC_TESTING_NODE_H_
#define RETRYQ_SRC_TESTING_NODE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "retryq/broker.h"
#include "retryq/random.h"
#include "retryq/testing/simulated_rabbitmq.h"
#include "retryq/testing/simulated_time.h"
#include "retryq/timers.h"
#include "testing/exchanges.h"
#include "testing/simulated_content.h"
#include "testing/simulated_queue.h"

namespace retryq::testing {

// Calls that nobody takes back: each is made once its time has come, unless the whole is destroyed
// before.
class Mail {
 public:
  // `timers` must outlive it.
  explicit Mail(Timers& timers) : timers_(timers) {}

  void After(absl::Duration delay, std::function<void()> call) {
    const std::uint64_t number = ++last_;
    timers_held_.emplace(number, timers_.After(delay, [this, number, call = std::move(call)] {
      const auto fired = timers_held_.extract(number);  // kept until the call has returned
      call();
    }));
  }

 private:
  Timers& timers_;
  std::uint64_t last_ = 0;
  std::unordered_map<std::uint64_t, std::unique_ptr<Timer>> timers_held_;
};

// Who consumes, as the node sees it: a channel with one consumer at a time.
class Channel {
 public:
  virtual ~Channel() = default;
  // Must not call back from inside.
  virtual void Deliver(std::uint64_t tag, bool redelivered, ContentPtr content) = 0;
  virtual void Cancelled() = 0;
  // By the broker.
  virtual void Closed(const absl::Status& why) = 0;
};
using ChannelId = std::uint64_t;

// Who has a connection to the node.
class NodeListener {
 public:
  virtual ~NodeListener() = default;
  // The node is gone, and all connections with it.
  virtual void OnNodeGone() = 0;
  virtual void OnAlarm(bool alarm) = 0;
};

// The node itself. Every call is handled at the instant at which it is made: the time that things
// take on their way is the connections' concern. The facts in brackets are those of
// doc/rabbitmq_facts.md, by number.
class Node {
 public:
  Node(SimulatedTime& time, Random& random, SimulatedRabbitMq::Options options);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // Connections.
  void AddListener(NodeListener* listener) { listeners_.push_back(listener); }
  void RemoveListener(NodeListener* listener) { std::erase(listeners_, listener); }
  bool up() const { return up_; }
  bool alarm() const { return alarm_; }
  const std::string& version() const { return options_.version; }
  Mail& mail() { return mail_; }
  SimulatedTime& time() { return time_; }
  // Uniform in [0, longest].
  absl::Duration Moment(absl::Duration longest);
  // Never used before: channels of clients.
  ChannelId NewChannel() { return ++last_channel_; }

  // Declaring.
  absl::StatusOr<DeclareOk> Declare(const DeclareParams& params);
  // As an operator does, who is never refused.
  absl::StatusOr<DeclareOk> DeclareQueue(const QueueDeclaration& declaration);
  absl::Status CheckExchange(const std::string& name) const;
  void RefuseDeclares(bool refuse) { refuses_declares_ = refuse; }

  // Publishing.
  struct Published {
    enum class Verdict { kTaken, kUnroutable, kRefused, kNoExchange } verdict;
    absl::Duration on_disk_at;  // kTaken: when it is confirmed
  };
  void RefusePublishes(bool refuse) { refuses_publishes_ = refuse; }
  // How soon a message is on disk, and who is told.
  enum class Sync { kAtOnce, kConfirmed, kDeadLettered, kUnconfirmed };
  Published Publish(const ContentPtr& content, Sync sync = Sync::kConfirmed);

  // Consuming. A channel that is not known is passed over, as the client cannot know yet.
  absl::Status Consume(ChannelId id, std::shared_ptr<Channel> channel, const ConsumeParams& params);
  // `stopped` is called once the queue sends no more, which takes a quorum queue a moment.
  void StopConsuming(ChannelId id, std::function<void()> stopped);
  // What is unsettled of before does not count into the prefetch.
  void ResumeConsuming(ChannelId id, std::uint16_t prefetch);
  void Ack(ChannelId id, std::uint64_t tag);
  void Reject(ChannelId id, std::uint64_t tag, bool requeue);
  // `given_back`: behind a basic.nack of all that is unsettled (41).
  void CloseChannel(ChannelId id, bool given_back = false);

  // What goes wrong.
  std::size_t DeleteQueue(const std::string& name);
  std::size_t Purge(const std::string& name);
  void Crash();
  void ShutDown();
  void Start();
  void SetAlarm(bool alarm);
  void StepClock(absl::Duration by);

  // What is there.
  Exchanges& exchanges() { return exchanges_; }
  // Nothing if it is not there, or going.
  const Queue* Find(const std::string& name) const;
  std::vector<std::string> queues() const;
  std::vector<ContentPtr> MessagesOf(const std::string& name) const;
  const std::vector<LetGo>& let_go() const { return let_go_; }
  const std::vector<std::string>& brought_back() const { return brought_back_; }

 private:
  // Delivered and not settled.
  struct Unacked {
    Place place;
    Stored stored;
  };
  struct Consumer {
    std::shared_ptr<Channel> channel;
    std::string queue;
    std::uint16_t prefetch;
    absl::Duration timeout;  // of its deliveries
    bool consuming = true;
    std::function<void()> stopped = nullptr;   // while its queue does not know yet that it stops
    std::vector<std::uint64_t> withheld = {};  // sent meanwhile, and not passed on
    std::uint64_t last_tag = 0;
    std::map<std::uint64_t, Unacked> unacked = {};
    std::uint64_t before = 0;  // the last tag of before it was resumed

    bool HasRoom() const {
      if (prefetch == 0 || unacked.size() < prefetch) return true;
      const auto since = unacked.upper_bound(before);
      return std::distance(since, unacked.end()) < prefetch;
    }
  };
  // What has left its queue so recently that a crash brings it back.
  struct Ghost {
    std::string queue;
    Place place;
    Stored stored;
    absl::Duration until;
    bool moved;  // dead-lettered, not acked
  };

  absl::Duration Now() const { return time_.SinceBoot(); }
  absl::Time WallClock() const { return time_.Now() + clock_offset_; }
  bool OneIn(std::uint64_t n) { return random_.Next() % n == 0; }

  // Queues.
  Queue* FindLive(const std::string& name);
  Queue& Make(const QueueDeclaration& declaration);
  static absl::Status Compare(const Queue& queue, const QueueDeclaration& declaration);
  void Touch(Queue& queue);
  void BeginEnd(Queue& queue, LetGo::Cause cause);
  void FinishEnd(const std::string& name);
  void Schedule(Queue& queue);
  void OnDue(const std::string& name);
  bool Leads(const Queue& queue) const { return !queue.quorum() || Now() >= queue.leader_from; }

  // Messages.
  absl::Duration Enqueue(Queue& queue, ContentPtr content, Sync sync);
  absl::Duration OnDiskAt(const Queue& queue, Sync sync);
  void ExpireHeads(Queue& queue);
  void DropOverflow(Queue& queue);
  void DeadLetter(Queue& queue, Place place, Stored stored, std::string_view reason,
                  LetGo::Cause without_exchange);
  void DeadLetterAtLeastOnce(const std::string& name, Place place, std::string_view reason);
  ContentPtr Redirected(const Queue& queue, const Content& content, std::string_view reason) const;
  void Remember(const Queue& queue, Place place, Stored stored, absl::Duration until, bool moved);
  // What a return says of the delivery: it failed, or it was given back, or timed out.
  enum class Return { kFailed, kGivenBack };
  void Requeue(Queue& queue, Place place, Stored stored, Return how);
  void LetItGo(LetGo::Cause cause, const Queue& queue, const Stored& stored);
  void LetAllGo(LetGo::Cause cause, Queue& queue);

  // Consumers.
  void Deliver(Queue& queue);
  void FinishStop(ChannelId id);
  void Leave(Consumer& consumer, ChannelId id, Return how);
  void WatchTimeout(ChannelId id, std::uint64_t tag, absl::Duration timeout);
  void OnTimeout(ChannelId id, std::uint64_t tag);

  // Ends of the node.
  void GoDown();
  void LoseWhatIsNotOnDisk();
  void BringBackGhosts();

  SimulatedTime& time_;
  Random& random_;
  const SimulatedRabbitMq::Options options_;

  bool up_ = true;
  std::uint64_t lives_ = 1;  // starts so far: what was begun in an earlier one is over
  bool alarm_ = false;
  bool refuses_declares_ = false;
  bool refuses_publishes_ = false;
  absl::Duration clock_offset_ = absl::ZeroDuration();

  std::vector<NodeListener*> listeners_;  // they are kept by consumers and mail, which go before
  Exchanges exchanges_;
  std::map<std::string, std::unique_ptr<Queue>> queues_;
  std::map<ChannelId, Consumer> consumers_;
  ChannelId last_channel_ = 0;
  std::deque<Ghost> ghosts_;
  std::vector<LetGo> let_go_;
  std::vector<std::string> brought_back_;
  Mail mail_;
};

}  // namespace retryq::testing

#endif  // RETRYQ_SRC_TESTING_NODE_H_
