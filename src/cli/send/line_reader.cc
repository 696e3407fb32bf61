#include "cli/send/line_reader.h"

#include <event2/event.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace retryq::cli {
namespace {

constexpr std::size_t kReadSize = std::size_t{64} * 1024;

// Only pipes, sockets and terminals can make a reader wait, and can be polled for it.
bool IsAlwaysReadable(int fd) {
  struct stat status = {};
  if (::fstat(fd, &status) != 0) return true;  // the read reports the error
  return !S_ISFIFO(status.st_mode) && !S_ISSOCK(status.st_mode) && ::isatty(fd) == 0;
}

}  // namespace

void LineReader::EventDeleter::operator()(event* e) const { event_free(e); }

LineReader::LineReader(EventLoop& loop, int fd, std::size_t longest, Callbacks callbacks)
    : loop_(loop),
      fd_(fd),
      longest_(longest),
      callbacks_(std::move(callbacks)),
      is_always_readable_(IsAlwaysReadable(fd)),
      readable_(event_new(
          loop.base(), fd, EV_READ,
          [](evutil_socket_t, short, void* self) { static_cast<LineReader*>(self)->OnReadable(); },
          this)) {}

LineReader::~LineReader() = default;

void LineReader::Stop() {
  stopped_ = true;
  readable_.reset();
  again_.reset();
}

void LineReader::Resume() {
  if (stopped_ || !std::exchange(paused_, false)) return;
  if (TakeLines()) Wait();
}

void LineReader::Wait() {
  if (stopped_) return;
  if (!is_always_readable_ && !at_end_) {
    event_add(readable_.get(), nullptr);
    return;
  }
  again_ = loop_.After(absl::ZeroDuration(), [this] {
    const std::unique_ptr<Timer> fired = std::move(again_);
    OnReadable();
  });
}

bool LineReader::TakeLines() {
  while (!stopped_) {
    const std::size_t end = buffer_.find('\n', scanned_);
    if (end == std::string::npos) {
      scanned_ = buffer_.size();
      buffer_.erase(0, begin_);
      scanned_ -= std::exchange(begin_, 0);
      if (skipping_ || buffer_.size() > longest_) {
        buffer_.clear();
        scanned_ = 0;
        if (!std::exchange(skipping_, true)) paused_ = !callbacks_.on_too_long();
      }
      return !paused_;
    }
    const std::string_view line = std::string_view(buffer_).substr(begin_, end - begin_);
    begin_ = scanned_ = end + 1;
    if (std::exchange(skipping_, false)) continue;
    paused_ = line.size() > longest_ ? !callbacks_.on_too_long() : !callbacks_.on_line(line);
    if (paused_) return false;
  }
  return false;
}

void LineReader::OnReadable() {
  if (!at_end_) {
    const std::size_t before = buffer_.size();
    buffer_.resize(before + kReadSize);
    const ssize_t size = ::read(fd_, buffer_.data() + before, kReadSize);
    buffer_.resize(before + (size > 0 ? static_cast<std::size_t>(size) : 0));
    if (size > 0) {
      if (TakeLines()) Wait();
      return;
    }
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return Wait();
    if (size < 0) {
      const absl::Status why =
          absl::InvalidArgumentError(absl::StrCat("cannot read stdin: ", std::strerror(errno)));
      stopped_ = true;
      return callbacks_.on_end(why);
    }
    at_end_ = true;
    // The last line may lack its line break.
    if (!buffer_.empty() && !skipping_) {
      buffer_.push_back('\n');
      if (!TakeLines()) return;
    }
  }
  if (stopped_) return;
  stopped_ = true;
  callbacks_.on_end(absl::OkStatus());
}

}  // namespace retryq::cli
