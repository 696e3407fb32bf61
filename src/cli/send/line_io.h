#ifndef RETRYQ_CLI_SEND_LINE_IO_H_
#define RETRYQ_CLI_SEND_LINE_IO_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "loop/libevent_ptr.h"
#include "retryq/broker/timers.h"
#include "retryq/event_loop.h"

namespace retryq::cli {

// Reads lines from a descriptor, as long as its owner has room for them. Does not change whether
// the descriptor blocks, as other processes may share it. The loop must outlive it. Callbacks are
// called from the loop.
class LineReader {
 public:
  struct Callbacks {
    // Receives a line without its line break; the view is valid during the call. Returns false to
    // pause until `Resume`.
    std::function<bool(std::string_view line)> on_line;
    // Called for a line that is longer than the limit and is skipped. Returns like `on_line`.
    std::function<bool()> on_too_long;
    // Called once after the last line: ok at the end of the input, otherwise the reason why reading
    // failed. May destroy the reader.
    std::function<void(const absl::Status& status)> on_end;
  };

  LineReader(EventLoop& loop, int fd, std::size_t longest, Callbacks callbacks);

  // Starts or continues to read, and calls back for the lines that are buffered.
  void Resume();

  // Stops reading. No more callbacks are called.
  void Stop();

 private:
  void OnReadable();
  // Passes the buffered lines on. Returns whether the owner has room for more.
  bool TakeLines();
  // Keeps the beginning of a line whose end is not read yet.
  void KeepRest();
  void Wait();
  void End(const absl::Status& status);

  EventLoop& loop_;
  const int fd_;
  const std::size_t longest_;
  const Callbacks callbacks_;
  const bool is_always_readable_;
  std::string buffer_;
  std::size_t begin_ = 0;    // of the lines not passed on yet
  std::size_t scanned_ = 0;  // there is no line break before this
  bool skipping_ = false;    // skips the rest of a line that is too long
  bool paused_ = true;
  bool stopped_ = false;
  bool at_end_ = false;
  EventPtr readable_;
  std::unique_ptr<Timer> again_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_SEND_LINE_IO_H_
