#include "cli/worker/event_log.h"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cli/text/json_line.h"

namespace retryq::cli {
namespace {

constexpr absl::Duration kLogDroppedEvery = absl::Minutes(1);
constexpr absl::Duration kPatientEvery = absl::Minutes(1);

// A pipe that can be written to at all takes so much without blocking.
constexpr std::size_t kAtOnce = PIPE_BUF;

}  // namespace

EventLog::EventLog(Timers& timers, Options options)
    : options_(options),
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
  if (!has_reader_ || severity < options_.from) return;
  Flush();
  if (unwritten_.empty() && dropped_ > 0) LogDropped();
  if (!unwritten_.empty()) {
    ++dropped_;
    return Complain();
  }
  unwritten_ = options_.format == Format::kJson ? JsonLine(severity, name, event, extras)
                                                : TextLine(severity, name, event, extras);
  unwritten_.push_back('\n');
  const std::size_t size = unwritten_.size();
  Flush();
  if (unwritten_.size() == size) {  // nothing of it is written
    unwritten_.clear();
    ++dropped_;
    Complain();
  }
}

void EventLog::Complain() {
  const absl::Time now = absl::Now();
  pollfd wanted = {.fd = options_.complaints_fd, .events = POLLOUT, .revents = 0};
  if (options_.complaints_fd < 0 || now < complain_from_ || poll(&wanted, 1, 0) <= 0) return;
  complain_from_ = now + kLogDroppedEvery;
  const std::string sentence = absl::StrCat(
      "retryq work: cannot write to stdout: ",
      error_ == 0 ? "its reader takes nothing" : std::strerror(error_), "; ",
      has_reader_ ? absl::StrCat("dropped lines of the log: ", dropped_) : "nothing more is logged",
      "\n");
  // It is short enough for a pipe.
  [[maybe_unused]] const ssize_t count =
      write(options_.complaints_fd, sentence.data(), sentence.size());
}

bool EventLog::IsWritable() {
  pollfd wanted = {.fd = options_.fd, .events = POLLOUT, .revents = 0};
  const absl::Time now = absl::Now();
  const absl::Duration patience = now < patient_from_ ? absl::ZeroDuration() : options_.patience;
  int ready = 0;
  do {
    ready = poll(&wanted, 1, static_cast<int>(absl::ToInt64Milliseconds(patience)));
  } while (ready < 0 && errno == EINTR);
  if (ready == 0) patient_from_ = now + kPatientEvery;
  return ready > 0;
}

void EventLog::Flush() {
  std::size_t written = 0;
  error_ = 0;
  while (written < unwritten_.size() && IsWritable()) {
    const ssize_t count = write(options_.fd, unwritten_.data() + written,
                                std::min(unwritten_.size() - written, kAtOnce));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno != EAGAIN) error_ = errno;
    if (error_ == EPIPE) has_reader_ = false;
    if (count <= 0) break;
    written += static_cast<std::size_t>(count);
  }
  unwritten_.erase(0, written);
}

void EventLog::LogDropped() {
  const absl::Time now = absl::Now();
  if (now < log_dropped_from_) return;
  const std::size_t dropped = std::exchange(dropped_, 0);
  const std::string error =
      absl::StrCat(dropped, " lines of this log could not be written and were dropped");
  Write(Severity::kWarning, "log_dropped", {.kind = {}, .time = now, .error = error}, {});
  if (dropped_ == 0) {
    log_dropped_from_ = now + kLogDroppedEvery;
  } else {
    dropped_ = dropped;  // nor could this one
  }
}

}  // namespace retryq::cli
