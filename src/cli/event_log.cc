#include "cli/event_log.h"

#include "absl/time/clock.h"
#include "cli/event_line.h"
#include "cli/io.h"

namespace retryq::cli {
namespace {

bool IsRoutine(EventKind kind) {
  return kind == EventKind::kHandled || kind == EventKind::kRenewed ||
         kind == EventKind::kForwarded;
}

}  // namespace

void EventLog::OnEvent(const Event& event) {
  const bool complete = options_.format == Format::kJson || options_.verbose;
  if (complete || !IsRoutine(event.kind)) Write(EventName(event.kind), event);
}

void EventLog::Say(std::string_view name, std::string_view queue, std::string_view error,
                   std::string_view id) {
  Write(name, {.kind = {}, .time = absl::Now(), .queue = queue, .id = id, .error = error});
}

void EventLog::Write(std::string_view name, const Event& event) {
  if (!has_reader_) return;
  std::string line =
      options_.format == Format::kJson ? JsonLine(name, event) : TextLine(name, event);
  line.push_back('\n');
  has_reader_ = WriteAll(options_.fd, line);
}

}  // namespace retryq::cli
