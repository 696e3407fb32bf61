#include "cli/worker/event_log.h"

#include "absl/time/clock.h"
#include "cli/text/io.h"
#include "cli/worker/event_line.h"

namespace retryq::cli {
void EventLog::OnEvent(const Event& event) {
  Write(SeverityOf(event.kind), EventName(event.kind), event);
}

void EventLog::Say(Severity severity, std::string_view name, std::string_view queue,
                   std::string_view error, std::string_view id) {
  Write(severity, name,
        {.kind = {}, .time = absl::Now(), .queue = queue, .id = id, .error = error});
}

void EventLog::SayUrl(Severity severity, std::string_view name, std::string_view queue,
                      std::string_view url) {
  Write(severity, name, {.kind = {}, .time = absl::Now(), .queue = queue}, url);
}

void EventLog::Write(Severity severity, std::string_view name, const Event& event,
                     std::string_view url) {
  if (!has_reader_ || severity < options_.from) return;
  std::string line = options_.format == Format::kJson ? JsonLine(severity, name, event, url)
                                                      : TextLine(severity, name, event, url);
  line.push_back('\n');
  has_reader_ = WriteAll(options_.fd, line);
}

}  // namespace retryq::cli
