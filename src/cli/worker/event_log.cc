#include "cli/worker/event_log.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cli/text/json_line.h"

namespace retryq::cli {
namespace {

std::string LineOf(EventLog::Format format, Severity severity, std::string_view name,
                   const Event& event, const LineExtras& extras) {
  return (format == EventLog::Format::kJson ? JsonLine(severity, name, event, extras)
                                            : TextLine(severity, name, event, extras)) +
         "\n";
}

}  // namespace

EventLog::EventLog(Timers& timers, Outlet& outlet, Options options)
    : options_(options),
      outlet_(outlet),
      repeated_(timers, [this](Severity severity, std::string_view name, const Event& event,
                               const LineExtras& extras) {
        Event now = event;
        now.time = absl::Now();
        Write(severity, name, now, extras);
      }) {}

void EventLog::OnEvent(const Event& event) {
  Log(SeverityOf(event.kind), EventName(event.kind), event);
}

void EventLog::Say(Severity severity, std::string_view name, std::string_view queue,
                   std::string_view error) {
  Log(severity, name, {.kind = {}, .time = absl::Now(), .queue = queue, .error = error});
}

void EventLog::SayOf(const Delivery& delivery, std::string_view id, Severity severity,
                     std::string_view name, std::string_view error) {
  Log(severity, name,
      {.kind = {},
       .time = absl::Now(),
       .queue = delivery.queue(),
       .id = id,
       .error = error,
       .delivery = &delivery});
}

void EventLog::SayUrl(Severity severity, std::string_view name, std::string_view queue,
                      std::string_view url) {
  Log(severity, name, {.kind = {}, .time = absl::Now(), .queue = queue}, {.url = url});
}

void EventLog::Log(Severity severity, std::string_view name, const Event& event,
                   const LineExtras& extras) {
  if (repeated_.Pass(severity, name, event)) Write(severity, name, event, extras);
}

void EventLog::Write(Severity severity, std::string_view name, const Event& event,
                     const LineExtras& extras) {
  if (severity < options_.from) return;
  outlet_.Write(LineOf(options_.format, severity, name, event, extras));
}

std::string EventLog::DroppedLine(Format format, std::uint64_t lines) {
  const std::string error =
      absl::StrCat(lines, " lines of this log could not be written and were dropped");
  return LineOf(format, Severity::kWarning, "log_dropped",
                {.kind = {}, .time = absl::Now(), .error = error}, {});
}

}  // namespace retryq::cli
