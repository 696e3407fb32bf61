#ifndef RETRYQ_TEST_SIMULATION_LEASE_HISTORY_H_
#define RETRYQ_TEST_SIMULATION_LEASE_HISTORY_H_

#include <unordered_map>
#include <unordered_set>

#include "retry/delay_queues/delay_queues.h"
#include "retryq/testing/seeded_random.h"
#include "retryq/testing/simulated_time.h"
#include "simulation/seeds.h"
#include "support/model_broker.h"
#include "support/scripted_broker.h"
#include "support/test.h"

// What the histories of classic and of quorum leases share.
namespace retryq::simulation {

using MessageId = ModelBroker::MessageId;

struct LeaseTotals {
  std::uint64_t safe = 0;     // messages confirmed and covered
  std::uint64_t unsafe = 0;   // messages confirmed and not covered
  std::uint64_t deleted = 0;  // messages that were deleted with their queue
  std::uint64_t lost = 0;     // those of them that were confirmed and covered
  std::uint64_t deceptions = 0;
  std::size_t most_queues = 0;
};

// The state that all clients of a history share.
struct LeaseWorld {
  explicit LeaseWorld(std::uint64_t seed, bool restarts_may_renew = false)
      : random(seed), broker(time, random, restarts_may_renew && random.OneIn(2)) {}

  // Cannot be cancelled: data on its way arrives, unless the broker is down.
  void Later(absl::Duration delay, std::function<void()> work) {
    timers.push_back(time.After(delay, std::move(work)));
  }

  // Waits until every queue has expired.
  LeaseTotals End() {
    time.Advance(absl::Hours(30));
    broker.Settle();
    const std::unordered_set<MessageId>& deleted = broker.lost();
    const auto lost = std::count_if(deleted.begin(), deleted.end(),
                                    [this](MessageId message) { return safe.contains(message); });
    return {.safe = safe.size(),
            .unsafe = unsafe,
            .deleted = deleted.size(),
            .lost = static_cast<std::uint64_t>(lost),
            .deceptions = broker.deceptions(),
            .most_queues = broker.queues()};
  }

  testing::SimulatedTime time;
  testing::SeededRandom random;
  ModelBroker broker;
  std::vector<std::unique_ptr<Timer>> timers;
  std::unordered_set<MessageId> safe;
  MessageId last_message = 0;
  std::uint64_t unsafe = 0;
};

// A client with its own clock and connection. Reacts like the publisher.
class LeaseClient : protected testing::ScriptedBroker {
 public:
  void PublishOne(const DelayRoute& route) {
    const Lease lease = queues_.CurrentLease(route, clock_.SinceBoot());
    if (lease.name != nullptr) return Send(lease);
    queues_.Acquire(route, [this](const absl::StatusOr<Lease>& acquired) {
      if (acquired.ok()) Send(*acquired);
    });
  }

  // Replies to data on its way do not arrive.
  virtual void LoseConnection() {
    ++connection_;
    unconfirmed_.clear();
    queues_.DropAll(absl::UnavailableError("lost"));
  }

 protected:
  LeaseClient(LeaseWorld& world, const DelayQueueOptions& options, absl::Duration skew)
      : ScriptedBroker(world.time),
        world_(world),
        clock_(world.time, skew),
        queues_(*this, EnvironmentWith(&clock_), options) {}

  // Publishes a message that `Begin` has numbered; `OnConfirm` follows.
  virtual void Send(const Lease& lease) = 0;
  MessageId Begin(const Lease& lease) {
    unconfirmed_.emplace(++world_.last_message, lease);
    return world_.last_message;
  }
  void OnConfirm(MessageId message) {
    const auto found = unconfirmed_.find(message);
    if (queues_.Covers(found->second)) {
      world_.safe.insert(message);
    } else {
      ++world_.unsafe;
    }
    unconfirmed_.erase(found);
  }

  LeaseWorld& world_;
  const testing::SkewedClock clock_;
  std::uint64_t connection_ = 0;
  std::unordered_map<MessageId, Lease> unconfirmed_;
  DelayQueues queues_;

 private:
  Environment EnvironmentWith(const Clock* clock) {
    Environment environment = testing::EnvironmentOf(world_.time, world_.random);
    environment.clock = clock;
    return environment;
  }
};

// Runs a history of each seed, none of which may lose a covered message.
inline LeaseTotals RunLeases(std::uint64_t count,
                             const std::function<LeaseTotals(std::uint64_t seed)>& run) {
  LeaseTotals totals;
  ForEachSeed(count, [&](std::uint64_t seed) {
    const LeaseTotals more = run(seed);
    EXPECT_EQ(more.lost, 0U) << "RETRYQ_SEED=" << seed
                             << ": a message went with its queue that was covered";
    totals.safe += more.safe;
    totals.unsafe += more.unsafe;
    totals.deleted += more.deleted;
    totals.deceptions += more.deceptions;
    totals.most_queues = std::max(totals.most_queues, more.most_queues);
  });
  return totals;
}

}  // namespace retryq::simulation

#endif  // RETRYQ_TEST_SIMULATION_LEASE_HISTORY_H_
