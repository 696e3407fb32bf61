#ifndef RETRYQ_CLI_SEND_LINE_READER_H_
#define RETRYQ_CLI_SEND_LINE_READER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "retryq/event_loop.h"
#include "retryq/timers.h"

struct event;

namespace retryq::cli {

// Reads lines from a descriptor as the loop runs, as many as its owner has room for. The
// descriptor, which others may share, stays as it is: blocking or not.
class LineReader {
 public:
  struct Callbacks {
    // A line, without its line break: the view is valid during the call. False: no more for now,
    // see `Resume`.
    std::function<bool(std::string_view line)> on_line;
    // A line that is longer than the limit, and is not read.
    std::function<bool()> on_too_long;
    // Once, after the last line: the end, or why nothing more can be read.
    std::function<void(const absl::Status& status)> on_end;
  };

  // `loop` must outlive it. Nothing is read before `Resume`. Callbacks come from the loop, or from
  // inside `Resume`; `on_end` may destroy it.
  LineReader(EventLoop& loop, int fd, std::size_t longest, Callbacks callbacks);
  ~LineReader();

  void Resume();

  // Reads nothing more, and calls nobody.
  void Stop();

 private:
  struct EventDeleter {
    void operator()(event* e) const;
  };

  void OnReadable();
  // Whether more lines are wanted.
  bool TakeLines();
  void Wait();

  EventLoop& loop_;
  const int fd_;
  const std::size_t longest_;
  const Callbacks callbacks_;
  const bool is_always_readable_;
  std::string buffer_;
  std::size_t begin_ = 0;    // of what has not been handed out
  std::size_t scanned_ = 0;  // up to where there is no line break
  bool skipping_ = false;    // the rest of a line that is too long
  bool paused_ = true;
  bool stopped_ = false;
  bool at_end_ = false;
  std::unique_ptr<event, EventDeleter> readable_;
  std::unique_ptr<Timer> again_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_SEND_LINE_READER_H_
