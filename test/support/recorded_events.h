#ifndef RETRYQ_TEST_SUPPORT_RECORDED_EVENTS_H_
#define RETRYQ_TEST_SUPPORT_RECORDED_EVENTS_H_

#include "retryq/observer.h"
#include "support/test.h"

namespace retryq::testing {

// Records events.
class RecordedEvents final : public Observer {
 public:
  struct Entry {
    EventKind kind;
    std::string queue;
    std::string delay_queue;
    std::string id;
    std::string error;
    std::optional<std::uint64_t> attempt;
    std::optional<absl::Duration> delay;
    std::string cause;
    std::optional<absl::Duration> lateness;
    std::optional<absl::Duration> handling;
    std::optional<absl::Duration> confirmed_after;
    std::optional<std::size_t> in_flight;
    std::optional<std::size_t> delay_queues;
  };

  void OnEvent(const Event& event) override {
    entries.push_back({event.kind, std::string(event.queue), std::string(event.delay_queue),
                       std::string(event.id), std::string(event.error), event.attempt, event.delay,
                       std::string(event.cause), event.lateness, event.handling,
                       event.confirmed_after, event.in_flight, event.delay_queues});
  }

  std::size_t Count(EventKind kind) const {
    return static_cast<std::size_t>(std::count_if(
        entries.begin(), entries.end(), [kind](const Entry& entry) { return entry.kind == kind; }));
  }

  // The newest of that kind; nullptr if there is none.
  const Entry* Last(EventKind kind) const {
    const auto found = std::find_if(entries.rbegin(), entries.rend(),
                                    [kind](const Entry& entry) { return entry.kind == kind; });
    return found == entries.rend() ? nullptr : &*found;
  }

  std::vector<Entry> entries;
};

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_SUPPORT_RECORDED_EVENTS_H_
