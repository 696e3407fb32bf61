#ifndef RETRYQ_CLI_SEND_ANSWER_WRITER_H_
#define RETRYQ_CLI_SEND_ANSWER_WRITER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "retryq/event_loop.h"
#include "retryq/timers.h"

struct event;

namespace retryq::cli {

// Writes lines to a descriptor without waiting for its reader: data that the reader does not take
// yet is kept. Does not change whether the descriptor blocks, as other processes may share it.
class AnswerWriter {
 public:
  struct Callbacks {
    // Called when everything has been written.
    std::function<void()> on_idle;
    // Called once, with the reason why nothing more can be written. The data that is kept is lost.
    std::function<void(const std::string& why)> on_broken;
  };

  // `loop` must outlive it. Callbacks are called from the loop.
  AnswerWriter(EventLoop& loop, int fd, Callbacks callbacks);
  ~AnswerWriter();

  // Lines of one turn of the loop are written at once.
  void Write(std::string_view line);

  // The number of bytes that are kept.
  std::size_t size() const { return pending_.size() - begin_; }
  bool is_broken() const { return is_broken_; }

 private:
  struct EventDeleter {
    void operator()(event* e) const;
  };

  void Flush();

  EventLoop& loop_;
  const int fd_;
  const Callbacks callbacks_;
  std::string pending_;
  std::size_t begin_ = 0;  // of the unwritten data
  bool is_broken_ = false;
  bool is_waiting_ = false;  // for the reader
  std::unique_ptr<event, EventDeleter> writable_;
  std::unique_ptr<Timer> flush_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_SEND_ANSWER_WRITER_H_
