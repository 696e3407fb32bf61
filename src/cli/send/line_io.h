#ifndef RETRYQ_CLI_SEND_LINE_IO_H_
#define RETRYQ_CLI_SEND_LINE_IO_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "loop/libevent_ptr.h"
#include "retryq/event_loop.h"
#include "retryq/timers.h"

namespace retryq::cli {

// LineReader and AnswerWriter do not change whether their descriptor blocks, as other processes may
// share it. The loop must outlive them. Callbacks are called from the loop.

// Reads lines from a descriptor, as long as its owner has room for them.
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

// Writes lines without waiting for their reader: data that the reader does not take yet is kept.
class AnswerWriter {
 public:
  struct Callbacks {
    // Called when everything has been written.
    std::function<void()> on_idle;
    // Called once, with the reason why nothing more can be written. The data that is kept is lost.
    std::function<void(const std::string& why)> on_broken;
  };

  AnswerWriter(EventLoop& loop, int fd, Callbacks callbacks);

  // Lines of one turn of the loop are written at once.
  void Write(std::string_view line);

  // The number of bytes that are kept.
  std::size_t size() const { return pending_.size() - begin_; }
  bool is_broken() const { return is_broken_; }

 private:
  void Flush();

  EventLoop& loop_;
  const int fd_;
  const Callbacks callbacks_;
  std::string pending_;
  std::size_t begin_ = 0;  // of the unwritten data
  bool is_broken_ = false;
  bool is_waiting_ = false;  // for the reader
  EventPtr writable_;
  std::unique_ptr<Timer> flush_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_SEND_LINE_IO_H_
