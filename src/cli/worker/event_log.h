#ifndef RETRYQ_CLI_WORKER_EVENT_LOG_H_
#define RETRYQ_CLI_WORKER_EVENT_LOG_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/time/time.h"
#include "cli/text/io.h"
#include "retryq/broker/timers.h"
#include "retryq/delivery.h"
#include "retryq/observer.h"

namespace retryq::cli {

// Returns the trace id in a `traceparent`, as a view into it; empty if it is malformed.
// https://www.w3.org/TR/trace-context/#traceparent-header
std::string_view TraceIdIn(std::string_view traceparent);

// The fields of a line that are not in its event.
struct LineExtras {
  std::string_view url = {};   // a URL that the command itself reports
  std::uint64_t repeated = 0;  // the number of such events that were not logged
  // The trace id of the event's message if `Event::delivery` is not set any more.
  std::string_view trace_id = {};
};

// The longest text in a line, in bytes. A longer text is cut and ends in "…".
inline constexpr std::size_t kLongestText = 500;

// The line of an event, without the line break. `name` and `severity` replace `event.kind`. Fields
// that are not set are omitted, invalid UTF-8 becomes U+FFFD, and control characters are escaped.

// The JSON line that doc/events.md describes.
std::string JsonLine(Severity severity, std::string_view name, const Event& event,
                     const LineExtras& extras = {});

// 2026-11-21T01:26:15.000Z info retried queue=orders attempt=0 … error="exit 3". Values are quoted
// if necessary, and some fields of JsonLine are missing.
std::string TextLine(Severity severity, std::string_view name, const Event& event,
                     const LineExtras& extras = {});

// Writes each event to an outlet, as one line.
//
// Of warnings and errors of one name and queue, the first is logged; of its repetitions in each
// following minute the last, with their number. The end of the problem ("connected" after
// "disconnected") ends that minute. Final outcomes of messages are never held back.
class EventLog : public Observer {
 public:
  static constexpr absl::Duration kReportEvery = absl::Minutes(1);

  enum class Format { kText, kJson };

  struct Options {
    Format format = Format::kText;
    Severity from = Severity::kInfo;  // events of a lower severity are not logged
  };

  // `timers` and `outlet` must outlive it.
  EventLog(Timers& timers, Outlet& outlet, Options options)
      : options_(options), timers_(timers), outlet_(outlet) {}
  // Logs the events that are held back.
  ~EventLog() override;
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  // The line of the event "log_dropped", for the outlet.
  static std::string DroppedLine(Format format, std::uint64_t lines);

  void OnEvent(const Event& event) override;

  // Logs an event of the command itself. The kind and the time of `event` are ignored.
  void Say(Severity severity, std::string_view name, Event event, const LineExtras& extras = {});

 private:
  // A kind of event that was logged within the last minute.
  struct Trouble {
    void Keep(Severity its_severity, const Event& event);

    std::uint64_t held_back = 0;
    Severity severity = Severity::kWarning;                    // of the last event
    std::string delay_queue, id, trace_id, error, cause;       // of the last event
    Event last = {.kind = EventKind{}, .time = absl::Time()};  // other fields of the last event
    std::unique_ptr<Timer> timer;
  };
  using Key = std::pair<std::string, std::string>;  // name and queue

  void Log(Severity severity, std::string_view name, const Event& event, const LineExtras& extras);
  bool IsHeldBack(Severity severity, std::string_view name, const Event& event);
  void LogHeldBack(const Key& key, Trouble& trouble);
  void Watch(const Key& key, Trouble& trouble);
  void Write(Severity severity, std::string_view name, const Event& event,
             const LineExtras& extras);

  const Options options_;
  Timers& timers_;
  Outlet& outlet_;
  std::map<Key, Trouble> troubles_;  // of the last minute
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_EVENT_LOG_H_
