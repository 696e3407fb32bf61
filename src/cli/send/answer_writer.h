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

// Writes lines to a descriptor without waiting for the process that reads them: what that does not
// take yet is kept. The descriptor, which others may share, stays as it is: blocking or not.
class AnswerWriter {
 public:
  struct Callbacks {
    // All has been written.
    std::function<void()> on_idle;
    // Once: why nothing more can be written; what is kept is lost.
    std::function<void(const std::string& why)> on_broken;
  };

  // `loop` must outlive it. Callbacks come from the loop.
  AnswerWriter(EventLoop& loop, int fd, Callbacks callbacks);
  ~AnswerWriter();

  // Lines of one turn of the loop are written together.
  void Write(std::string_view line);

  // Bytes that are kept.
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
  std::size_t begin_ = 0;  // of what has not been written
  bool is_broken_ = false;
  bool is_waiting_ = false;  // for the reader
  std::unique_ptr<event, EventDeleter> writable_;
  std::unique_ptr<Timer> flush_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_SEND_ANSWER_WRITER_H_
