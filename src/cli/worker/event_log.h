#ifndef RETRYQ_CLI_WORKER_EVENT_LOG_H_
#define RETRYQ_CLI_WORKER_EVENT_LOG_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/text/outlet.h"
#include "cli/worker/event_line.h"
#include "cli/worker/repeated_events.h"
#include "retryq/delivery.h"
#include "retryq/observer.h"
#include "retryq/timers.h"

namespace retryq::cli {

// Writes events to an outlet, a line each.
//
// A trouble that repeats is logged once a minute, with a count: see RepeatedEvents.
class EventLog : public Observer {
 public:
  enum class Format { kText, kJson };

  struct Options {
    Format format = Format::kText;
    Severity from = Severity::kInfo;  // what matters less is left out
  };

  // `timers` and `outlet` must outlive it.
  EventLog(Timers& timers, Outlet& outlet, Options options);

  // For the outlet: the event "log_dropped".
  static std::string DroppedLine(Format format, std::uint64_t lines);

  void OnEvent(const Event& event) override;

  // What the command itself has to say, as an event of that name, now.
  void Say(Severity severity, std::string_view name, std::string_view queue,
           std::string_view error);

  // The same, about a message that has this id.
  void SayOf(const Delivery& delivery, std::string_view id, Severity severity,
             std::string_view name, std::string_view error);

  // Where something listens.
  void SayUrl(Severity severity, std::string_view name, std::string_view queue,
              std::string_view url);

 private:
  void Log(Severity severity, std::string_view name, const Event& event,
           const LineExtras& extras = {});
  void Write(Severity severity, std::string_view name, const Event& event,
             const LineExtras& extras);

  const Options options_;
  Outlet& outlet_;
  RepeatedEvents repeated_;  // first to go, as it writes
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_EVENT_LOG_H_
