// Crashes, shutdowns and starts of a node, alarms, and steps of its clock.

#include <utility>
#include <vector>

#include "testing/node.h"

namespace retryq::testing {
namespace {

// A quorum queue younger than kTooYoung comes back empty from a crash; one younger than kOldEnough
// may come back empty (27).
constexpr absl::Duration kTooYoung = absl::Milliseconds(500);
constexpr absl::Duration kOldEnough = absl::Milliseconds(1500);

}  // namespace

void Node::SetAlarm(bool alarm) {
  if (alarm_ == alarm || !up_) return;
  alarm_ = alarm;
  for (NodeListener* const listener : std::vector(listeners_)) listener->OnAlarm(alarm);
}

void Node::StepClock(absl::Duration by) {
  clock_offset_ += by;
  for (const auto& [name, queue] : queues_) Schedule(*queue);
}

void Node::Crash() {
  if (!up_) return;
  up_ = false;
  LoseWhatIsNotOnDisk();
  BringBackGhosts();
  GoDown();
}

void Node::ShutDown() {
  if (!up_) return;
  up_ = false;
  GoDown();
}

void Node::GoDown() {
  alarm_ = false;
  ghosts_.clear();
  for (auto& [id, consumer] : std::exchange(consumers_, {})) {
    Queue* const queue = FindLive(consumer.queue);
    if (queue == nullptr) continue;
    queue->consumers.clear();
    for (auto& [tag, unacked] : consumer.unacked) {
      Requeue(*queue, unacked.place, std::move(unacked.stored), Return::kFailed);
    }
  }
  for (auto queue = queues_.begin(); queue != queues_.end();) {
    if (queue->second->going || !queue->second->durable) {
      exchanges_.Unbind(queue->first);
      queue = queues_.erase(queue);
      continue;
    }
    Queue& kept = *(queue++)->second;
    kept.timer.reset();
    for (const auto& [place, stored] : kept.leaving) {
      brought_back_.emplace_back(stored.content->id());
    }
    kept.ready.merge(kept.leaving);
    if (kept.quorum()) continue;
    std::erase_if(kept.ready, [this, &kept](const auto& entry) {
      if (entry.second.content->persistent()) return false;
      LetItGo(LetGo::Cause::kTransient, kept, entry.second);
      return true;
    });
  }
  for (NodeListener* const listener : std::vector(listeners_)) listener->OnNodeGone();
}

// Each message is lost with a probability of one half. A loss is recorded only if the message was
// not confirmed.
void Node::LoseWhatIsNotOnDisk() {
  for (const auto& [name, queue] : queues_) {
    const absl::Duration age = Now() - queue->made_at;
    if (queue->quorum() && (age < kTooYoung || (age < kOldEnough && OneIn(2)))) {
      LetAllGo(LetGo::Cause::kNewQueueCrashed, *queue);
      continue;
    }
    const auto is_lost = [this, &queue = *queue](const Stored& stored) {
      if (stored.on_disk_at <= Now() || OneIn(2)) return false;
      if (stored.unconfirmed) LetItGo(LetGo::Cause::kCrash, queue, stored);
      return true;
    };
    std::erase_if(queue->ready, [&](const auto& entry) { return is_lost(entry.second); });
    for (auto& [id, consumer] : consumers_) {
      if (consumer.queue != name) continue;
      queue->unacked -= std::erase_if(
          consumer.unacked, [&](const auto& entry) { return is_lost(entry.second.stored); });
    }
  }
}

// See (22).
void Node::BringBackGhosts() {
  for (Ghost& ghost : ghosts_) {
    Queue* const queue = FindLive(ghost.queue);
    if (ghost.until <= Now() || queue == nullptr || OneIn(2)) continue;
    if (ghost.moved) brought_back_.emplace_back(ghost.stored.content->id());
    ghost.stored.redelivered = true;
    queue->ready.emplace(ghost.place, std::move(ghost.stored));
  }
}

void Node::Start() {
  if (up_) return;
  up_ = true;
  ++lives_;
  for (const auto& [name, queue] : queues_) {
    if (queue->quorum()) queue->leader_from = Now() + Moment(options_.max_election);
    const bool renewed = !queue->quorum() || options_.restart_renews_quorum;  // (3)
    if (queue->expires && renewed) queue->lease_end = Now() + *queue->expires;
    Schedule(*queue);
  }
}

}  // namespace retryq::testing
