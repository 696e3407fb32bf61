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

// Writes each event to an outlet, as one line. Warnings and errors that repeat are logged once a
// minute, with a count: see RepeatedEvents.
class EventLog : public Observer {
 public:
  enum class Format { kText, kJson };

  struct Options {
    Format format = Format::kText;
    Severity from = Severity::kInfo;  // events of a lower severity are not logged
  };

  // `timers` and `outlet` must outlive it.
  EventLog(Timers& timers, Outlet& outlet, Options options);

  // The line of the event "log_dropped", for the outlet.
  static std::string DroppedLine(Format format, std::uint64_t lines);

  void OnEvent(const Event& event) override;

  // Logs a message of the command itself as an event of this name, with the current time.
  void Say(Severity severity, std::string_view name, std::string_view queue,
           std::string_view error);

  // Logs such an event about the delivery with this id.
  void SayOf(const Delivery& delivery, std::string_view id, Severity severity,
             std::string_view name, std::string_view error);

  // Logs the URL at which a server listens.
  void SayUrl(Severity severity, std::string_view name, std::string_view queue,
              std::string_view url);

 private:
  void Log(Severity severity, std::string_view name, const Event& event,
           const LineExtras& extras = {});
  void Write(Severity severity, std::string_view name, const Event& event,
             const LineExtras& extras);

  const Options options_;
  Outlet& outlet_;
  RepeatedEvents repeated_;  // destroyed first, as its destructor writes
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_EVENT_LOG_H_
