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
#include "base/broker_version.h"
#include "retryq/broker/broker.h"
#include "retryq/broker/random.h"
#include "retryq/broker/timers.h"
#include "retryq/testing/simulated_rabbitmq.h"
#include "retryq/testing/simulated_time.h"
#include "testing/exchanges.h"
#include "testing/simulated_content.h"
#include "testing/simulated_queue.h"

namespace retryq::testing {

// Calls that cannot be cancelled. Each call is made at its time, unless the Mail is destroyed
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

// A consumer's channel, as the node sees it. It has one consumer at a time.
class Channel {
 public:
  virtual ~Channel() = default;
  // Must not call the node.
  virtual void Deliver(std::uint64_t tag, bool redelivered, ContentPtr content) = 0;
  virtual void Cancelled() = 0;
  // Called when the broker closes the channel.
  virtual void Closed(const absl::Status& why) = 0;
};
using ChannelId = std::uint64_t;

// A connection to the node.
class NodeListener {
 public:
  virtual ~NodeListener() = default;
  // The node has stopped, and all connections are lost.
  virtual void OnNodeGone() = 0;
  virtual void OnAlarm(bool alarm) = 0;
};

// The node itself. Every call is processed at once; the connections add latency. Numbers in
// brackets refer to the facts in doc/rabbitmq_facts.md.
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
  // Returns a random duration, uniform in [0, longest].
  absl::Duration Moment(absl::Duration longest);
  // Returns an unused id for a client's channel.
  ChannelId NewChannel() { return ++last_channel_; }

  // Declaring.
  absl::StatusOr<DeclareOk> Declare(const DeclareParams& params);
  // Declares a queue for an operator, who is never refused.
  absl::StatusOr<DeclareOk> DeclareQueue(const QueueDeclaration& declaration);
  absl::Status CheckExchange(const std::string& name) const;
  void RefuseDeclares(bool refuse) { refuses_declares_ = refuse; }

  // Publishing.
  struct Published {
    enum class Verdict { kTaken, kUnroutable, kRefused, kNoExchange } verdict;
    absl::Duration on_disk_at;  // kTaken: the time of the confirm
  };
  void RefusePublishes(bool refuse) { refuses_publishes_ = refuse; }
  // How soon a message is on disk, and who gets a confirm.
  enum class Sync { kAtOnce, kConfirmed, kDeadLettered, kUnconfirmed };
  Published Publish(const ContentPtr& content, Sync sync = Sync::kConfirmed);

  // Consuming. Calls for an unknown channel are ignored, because the client may not know yet that
  // the channel is gone.
  absl::Status Consume(ChannelId id, std::shared_ptr<Channel> channel, const ConsumeParams& params);
  // `stopped` is called when the queue sends no more messages; a quorum queue needs a moment for
  // this.
  void StopConsuming(ChannelId id, std::function<void()> stopped);
  // Earlier unsettled deliveries do not count towards the prefetch.
  void ResumeConsuming(ChannelId id, std::uint16_t prefetch);
  void Ack(ChannelId id, std::uint64_t tag);
  void Reject(ChannelId id, std::uint64_t tag, bool requeue);
  // `given_back`: a basic.nack of all unsettled deliveries came before (41).
  void CloseChannel(ChannelId id, bool given_back = false);

  // Faults.
  std::size_t DeleteQueue(const std::string& name);
  std::size_t Purge(const std::string& name);
  void Crash();
  void ShutDown();
  void Start();
  void SetAlarm(bool alarm);
  void StepClock(absl::Duration by);

  // State.
  Exchanges& exchanges() { return exchanges_; }
  // Returns null if the queue does not exist or is being deleted.
  const Queue* Find(const std::string& name) const;
  std::vector<std::string> queues() const;
  std::vector<ContentPtr> MessagesOf(const std::string& name) const;
  const std::vector<LetGo>& let_go() const { return let_go_; }
  const std::vector<std::string>& brought_back() const { return brought_back_; }

 private:
  // A delivery that has not been settled.
  struct Unacked {
    Place place;
    Stored stored;
  };
  struct Consumer {
    std::shared_ptr<Channel> channel;
    std::string queue;
    std::uint16_t prefetch;
    absl::Duration timeout;  // of its deliveries
    bool exclusive = false;
    bool consuming = true;
    std::function<void()> stopped = nullptr;   // set until its queue has noticed the cancel
    std::vector<std::uint64_t> withheld = {};  // deliveries since then, which are not sent
    std::uint64_t last_tag = 0;
    std::map<std::uint64_t, Unacked> unacked = {};
    std::uint64_t before = 0;  // the last tag before the consumer was resumed

    bool HasRoom() const {
      if (prefetch == 0 || unacked.size() < prefetch) return true;
      const auto since = unacked.upper_bound(before);
      return std::distance(since, unacked.end()) < prefetch;
    }
  };
  // A message that left its queue so recently that a crash restores it.
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
  // How a delivery is returned: it failed, or it was requeued or timed out.
  enum class Return { kFailed, kGivenBack };
  void Requeue(Queue& queue, Place place, Stored stored, Return how);
  void LetItGo(LetGo::Cause cause, const Queue& queue, const Stored& stored);
  void LetAllGo(LetGo::Cause cause, Queue& queue);

  // Consumers.
  void Deliver(Queue& queue);
  void FinishStop(ChannelId id);
  bool HasExclusive(const Queue& queue, bool exclusive) const;
  void Leave(Consumer& consumer, ChannelId id, Return how);
  void WatchTimeout(ChannelId id, std::uint64_t tag, absl::Duration timeout);
  void OnTimeout(ChannelId id, std::uint64_t tag);

  // Stops of the node.
  void GoDown();
  void LoseWhatIsNotOnDisk();
  void BringBackGhosts();

  SimulatedTime& time_;
  Random& random_;
  const SimulatedRabbitMq::Options options_;
  const BrokerVersion version_;

  bool up_ = true;
  std::uint64_t lives_ = 1;  // number of starts; work from before the last start is ignored
  bool alarm_ = false;
  bool refuses_declares_ = false;
  bool refuses_publishes_ = false;
  absl::Duration clock_offset_ = absl::ZeroDuration();

  std::vector<NodeListener*> listeners_;  // kept by consumers and mail, which are destroyed first
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
