#include "cli/send/answer_writer.h"

#include <event2/event.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/time/time.h"

namespace retryq::cli {
namespace {

// The size that a writable pipe accepts without blocking.
constexpr std::size_t kWriteSize = PIPE_BUF;

// From this size on, written data is dropped from the buffer.
constexpr std::size_t kWritten = std::size_t{64} * 1024;

bool IsWritable(int fd) {
  pollfd polled = {fd, POLLOUT, 0};
  return ::poll(&polled, 1, 0) > 0;
}

}  // namespace

void AnswerWriter::EventDeleter::operator()(event* e) const { event_free(e); }

AnswerWriter::AnswerWriter(EventLoop& loop, int fd, Callbacks callbacks)
    : loop_(loop),
      fd_(fd),
      callbacks_(std::move(callbacks)),
      writable_(event_new(
          loop.base(), fd, EV_WRITE,
          [](evutil_socket_t, short, void* self) {
            auto* const writer = static_cast<AnswerWriter*>(self);
            writer->is_waiting_ = false;
            writer->Flush();
          },
          this)) {}

AnswerWriter::~AnswerWriter() = default;

void AnswerWriter::Write(std::string_view line) {
  if (is_broken_) return;
  pending_.append(line);
  if (is_waiting_ || flush_ != nullptr) return;
  flush_ = loop_.After(absl::ZeroDuration(), [this] {
    const std::unique_ptr<Timer> fired = std::move(flush_);
    Flush();
  });
}

void AnswerWriter::Flush() {
  while (size() > 0) {
    // Waits for pipes, sockets and terminals only, as files are always writable.
    if (!IsWritable(fd_)) {
      is_waiting_ = true;
      event_add(writable_.get(), nullptr);
      return;
    }
    const ssize_t written = ::write(fd_, pending_.data() + begin_, std::min(size(), kWriteSize));
    if (written < 0 && errno != EAGAIN && errno != EINTR) {
      const std::string why = std::strerror(errno);
      is_broken_ = true;
      pending_.clear();
      begin_ = 0;
      return callbacks_.on_broken(why);
    }
    if (written > 0) begin_ += static_cast<std::size_t>(written);
    if (begin_ == pending_.size() || begin_ >= kWritten) {
      pending_.erase(0, std::exchange(begin_, 0));
    }
  }
  callbacks_.on_idle();
}

}  // namespace retryq::cli
