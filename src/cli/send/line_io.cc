#include "cli/send/line_io.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/text/io.h"

namespace retryq::cli {
namespace {

// Only pipes, sockets and terminals can make a reader wait, and can be polled for it.
bool IsAlwaysReadable(int fd) {
  struct stat status = {};
  if (::fstat(fd, &status) != 0) return true;  // the read reports the error
  return !S_ISFIFO(status.st_mode) && !S_ISSOCK(status.st_mode) && ::isatty(fd) == 0;
}

}  // namespace

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
  while (!stopped_ && !paused_) {
    const std::size_t end = buffer_.find('\n', scanned_);
    if (end == std::string::npos) {
      KeepRest();
      return !paused_;
    }
    const std::string_view line = std::string_view(buffer_).substr(begin_, end - begin_);
    begin_ = scanned_ = end + 1;
    if (std::exchange(skipping_, false)) continue;
    paused_ = line.size() > longest_ ? !callbacks_.on_too_long() : !callbacks_.on_line(line);
  }
  return false;
}

void LineReader::KeepRest() {
  buffer_.erase(0, std::exchange(begin_, 0));
  scanned_ = buffer_.size();
  if (!skipping_ && buffer_.size() <= longest_) return;
  buffer_.clear();
  scanned_ = 0;
  if (!std::exchange(skipping_, true)) paused_ = !callbacks_.on_too_long();
}

void LineReader::OnReadable() {
  if (at_end_) return End(absl::OkStatus());
  const std::size_t before = buffer_.size();
  buffer_.resize(before + kReadSize);
  const ssize_t size = ::read(fd_, buffer_.data() + before, kReadSize);
  const int error = errno;
  buffer_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  if (size > 0) {
    if (TakeLines()) Wait();
  } else if (size == 0) {
    at_end_ = true;
    // The last line may lack its line break.
    if (!buffer_.empty() && !skipping_) buffer_.push_back('\n');
    if (TakeLines()) End(absl::OkStatus());
  } else if (error == EAGAIN || error == EINTR) {
    Wait();
  } else {
    End(absl::InvalidArgumentError(absl::StrCat("cannot read stdin: ", std::strerror(error))));
  }
}

void LineReader::End(const absl::Status& status) {
  if (!std::exchange(stopped_, true)) callbacks_.on_end(status);
}

}  // namespace retryq::cli
