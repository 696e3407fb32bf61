#ifndef RETRYQ_CLI_OUTAGE_EVENT_CALENDAR_H_
#define RETRYQ_CLI_OUTAGE_EVENT_CALENDAR_H_

#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <utility>
#include <vector>

namespace retryq::cli {

// A priority queue of events in time, the earliest first, for millions of them: only those of the
// slice of time that is on are kept in order, in a heap that fits a cache; those of later slices
// lie unsorted. An Event has `time()` in microseconds, not negative, and `operator>` for a total
// order that agrees with it. None may be pushed that is earlier than the last one popped.
template <typename Event>
class EventCalendar {
 public:
  bool empty() const { return now_.empty() && later_.empty(); }

  void Push(const Event& event) {
    const std::int64_t slice = SliceOf(event);
    if (slice <= slice_) {
      now_.push(event);
    } else {
      later_[slice].push_back(event);
    }
  }

  // Of one that is not empty.
  const Event& Top() {
    if (now_.empty()) BeginNextSlice();
    return now_.top();
  }

  void Pop() {
    if (now_.empty()) BeginNextSlice();
    now_.pop();
  }

 private:
  using Heap = std::priority_queue<Event, std::vector<Event>, std::greater<>>;

  static constexpr std::int64_t kSliceLength = 1'000'000;

  static std::int64_t SliceOf(const Event& event) { return event.time() / kSliceLength; }

  void BeginNextSlice() {
    const auto next = later_.begin();
    slice_ = next->first;
    now_ = Heap(std::greater<>(), std::move(next->second));
    later_.erase(next);
  }

  std::int64_t slice_ = -1;
  Heap now_;
  std::map<std::int64_t, std::vector<Event>> later_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_OUTAGE_EVENT_CALENDAR_H_
