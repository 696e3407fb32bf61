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

// Keeps troubles that repeat out of a log. The first of its name about a queue is logged; those of
// the minute after it are counted, and reported at its end by the last of them, with their number.
// What is over ("connected" after "disconnected") is reported then, and is new when it happens
// again. What becomes of a message for good is never held back.
class RepeatedEvents {
 public:
  static constexpr absl::Duration kReportEvery = absl::Minutes(1);

  // The event is valid during the call. The extras have the number, and the trace of the last one.
  using Report = std::function<void(Severity severity, std::string_view name, const Event& event,
                                    const LineExtras& extras)>;

  // `timers` must outlive it.
  RepeatedEvents(Timers& timers, Report report) : timers_(timers), report_(std::move(report)) {}
  // Reports what is held back.
  ~RepeatedEvents();
  RepeatedEvents(const RepeatedEvents&) = delete;
  RepeatedEvents& operator=(const RepeatedEvents&) = delete;

  // Whether to log this now; else it is held back.
  bool Pass(Severity severity, std::string_view name, const Event& event);

 private:
  // One that was logged within the last minute.
  struct Trouble {
    void Keep(Severity its_severity, const Event& event);
    Event Last(const std::string& queue) const;

    std::uint64_t held_back = 0;
    Severity severity = Severity::kWarning;                    // of the last of these
    std::string delay_queue, id, trace_id, error, cause;       // of the last one
    Event last = {.kind = EventKind{}, .time = absl::Time()};  // its other fields
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
