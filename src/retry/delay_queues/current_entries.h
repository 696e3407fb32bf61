#ifndef RETRYQ_SRC_RETRY_DELAY_QUEUES_CURRENT_ENTRIES_H_
#define RETRYQ_SRC_RETRY_DELAY_QUEUES_CURRENT_ENTRIES_H_

#include "absl/container/flat_hash_map.h"
#include "retry/delay_queues/delay_queue_entry.h"
#include "retry/delay_queues/delay_queue_route.h"

namespace retryq {

// The entry in use for each route. Checks the entry that was found last first, because most copies
// use the same route as the copy before.
class CurrentEntries {
 public:
  // Returns null if the route has no entry.
  DelayQueueEntry* Find(const DelayRoute& route) {
    if (last_ != nullptr && last_->key().route() == route) return last_;
    const auto found = entries_.find(route);
    if (found == entries_.end()) return nullptr;
    last_ = found->second;
    return last_;
  }

  // Returns the entry that was found last; null if it may have been erased since.
  DelayQueueEntry* last() const { return last_; }

  // Replaces the entry of its route. `entry` must live until it is erased or replaced.
  void Set(DelayQueueEntry& entry) {
    entries_[entry.key()] = &entry;
    last_ = nullptr;
  }

  void Erase(const DelayRouteKey& route) {
    entries_.erase(route);
    last_ = nullptr;
  }

  void Clear() {
    entries_.clear();
    last_ = nullptr;
  }

 private:
  absl::flat_hash_map<DelayRouteKey, DelayQueueEntry*, DelayRouteKey::Hash, DelayRouteKey::Equal>
      entries_;
  DelayQueueEntry* last_ = nullptr;
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_DELAY_QUEUES_CURRENT_ENTRIES_H_
