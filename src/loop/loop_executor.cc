#include "loop/loop_executor.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace retryq {
namespace {

int OpenEventFd() {
  const int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (fd < 0) {
    std::perror("retryq: eventfd");  // out of file descriptors: no loop can be made
    std::abort();
  }
  return fd;
}

}  // namespace

LoopExecutor::LoopExecutor(event_base* base) : wakeup_(OpenEventFd()) {
  readable_.reset(event_new(
      base, wakeup_, EV_READ | EV_PERSIST,
      [](evutil_socket_t, short, void* self) { static_cast<LoopExecutor*>(self)->RunPosted(); },
      this));
  event_add(readable_.get(), nullptr);
}

LoopExecutor::~LoopExecutor() { close(wakeup_); }

void LoopExecutor::Post(std::function<void()> work) {
  {
    std::lock_guard lock(mutex_);
    if (closed_) return;
    posted_.push_back(std::move(work));
    if (posted_.size() > 1) return;  // the loop has been told
  }
  eventfd_write(wakeup_, 1);
}

void LoopExecutor::Close() {
  std::vector<std::function<void()>> unrun;  // destroyed outside of the lock: it may post
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    unrun.swap(posted_);
  }
  readable_.reset();
}

void LoopExecutor::RunPosted() {
  eventfd_t ignored;
  eventfd_read(wakeup_, &ignored);
  {
    std::lock_guard lock(mutex_);
    running_.swap(posted_);
  }
  for (std::function<void()>& work : running_) std::exchange(work, nullptr)();
  running_.clear();
}

}  // namespace retryq
