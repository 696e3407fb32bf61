#ifndef RETRYQ_CLI_WORKER_REPEATED_EVENTS_H_
#define RETRYQ_CLI_WORKER_REPEATED_EVENTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/time/time.h"
#include "cli/worker/event_line.h"
#include "retryq/observer.h"
#include "retryq/timers.h"

namespace retryq::cli {

// Limits repeated warnings and errors in a log. The first one of a name and queue is logged. Those
// of the following minute are counted; at its end the last one is reported, with their number. When
// the problem is over ("connected" after "disconnected"), they are reported at once, and the next
// one is logged as new. An event about the final outcome of a message is never held back.
class RepeatedEvents {
 public:
  static constexpr absl::Duration kReportEvery = absl::Minutes(1);

  // The event is valid during the call. The extras contain the number, and the trace id of the last
  // event.
  using Report = std::function<void(Severity severity, std::string_view name, const Event& event,
                                    const LineExtras& extras)>;

  // `timers` must outlive it.
  RepeatedEvents(Timers& timers, Report report) : timers_(timers), report_(std::move(report)) {}
  // Reports the events that are held back.
  ~RepeatedEvents();
  RepeatedEvents(const RepeatedEvents&) = delete;
  RepeatedEvents& operator=(const RepeatedEvents&) = delete;

  // Returns whether to log this event now. Otherwise it is held back.
  bool Pass(Severity severity, std::string_view name, const Event& event);

 private:
  // A kind of event that was logged within the last minute.
  struct Trouble {
    void Keep(Severity its_severity, const Event& event);
    Event Last(const std::string& queue) const;

    std::uint64_t held_back = 0;
    Severity severity = Severity::kWarning;                    // of the last event
    std::string delay_queue, id, trace_id, error, cause;       // of the last event
    Event last = {.kind = EventKind{}, .time = absl::Time()};  // other fields of the last event
    std::unique_ptr<Timer> timer;
  };
  using Key = std::pair<std::string, std::string>;  // name and queue

  void ReportHeldBack(const Key& key, Trouble& trouble);
  void Watch(const Key& key, Trouble& trouble);

  Timers& timers_;
  const Report report_;
  std::map<Key, Trouble> troubles_;  // of the last minute
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_REPEATED_EVENTS_H_
