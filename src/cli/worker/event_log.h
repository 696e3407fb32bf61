#ifndef RETRYQ_CLI_WORKER_EVENT_LOG_H_
#define RETRYQ_CLI_WORKER_EVENT_LOG_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "cli/worker/event_line.h"
#include "cli/worker/repeated_events.h"
#include "retryq/delivery.h"
#include "retryq/observer.h"
#include "retryq/timers.h"

namespace retryq::cli {

// Writes events to a file descriptor, a line each. It waits for a slow reader, but no more than a
// second in a minute: otherwise lines that cannot be written at once are dropped, as they are where
// the disk is full. How many were dropped is logged at most once a minute, as "log_dropped". A
// reader that goes away silences it. SIGPIPE must be ignored.
//
// A trouble that repeats is logged once a minute, with a count: see RepeatedEvents.
class EventLog : public Observer {
 public:
  enum class Format { kText, kJson };

  struct Options {
    int fd;
    Format format = Format::kText;
    Severity from = Severity::kInfo;             // what matters less is left out
    absl::Duration patience = absl::Seconds(1);  // with a reader, once a minute
    // Gets a sentence, at most once a minute, while lines of the log are dropped. -1: none.
    int complaints_fd = -1;
  };

  // `timers` must outlive it.
  EventLog(Timers& timers, Options options);

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

  // Lines that were dropped, and not yet logged as such.
  std::size_t dropped() const { return dropped_; }

 private:
  bool IsWritable();
  // As much of `unwritten_` as can be written.
  void Flush();
  void LogDropped();
  void Complain();
  void Log(Severity severity, std::string_view name, const Event& event,
           const LineExtras& extras = {});
  void Write(Severity severity, std::string_view name, const Event& event,
             const LineExtras& extras);

  const Options options_;
  bool has_reader_ = true;
  absl::Time patient_from_ = absl::InfinitePast();  // the reader has used up our patience
  std::string unwritten_;                           // the rest of a line whose beginning is written
  std::size_t dropped_ = 0;
  absl::Time log_dropped_from_ = absl::InfinitePast();
  absl::Time complain_from_ = absl::InfinitePast();
  int error_ = 0;            // of the last write that failed; 0: none failed
  RepeatedEvents repeated_;  // first to go, as it writes
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_EVENT_LOG_H_
