#ifndef RETRYQ_CLI_OUTAGE_EVENT_CALENDAR_H_
#define RETRYQ_CLI_OUTAGE_EVENT_CALENDAR_H_

#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <utility>
#include <vector>

namespace retryq::cli {

// A priority queue for millions of events, earliest first. Only the events of the current time
// slice are in a heap, which fits a cache; those of later slices are unsorted. An Event has
// `time()` in microseconds, not negative, and `operator>` for a total order that agrees with it. No
// event may be earlier than the last one popped.
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

  // The calendar must not be empty.
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
