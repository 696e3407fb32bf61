#include "loop/loop_executor.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "loop/thrown.h"

namespace retryq {
namespace {

int OpenEventFd() {
  const int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (fd < 0) {
    std::perror("retryq: eventfd");  // out of file descriptors: the loop cannot work
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

void LoopExecutor::Post(Work work) {
  if (!process_.is_here()) return;
  {
    const WorkOrigin& origin = CurrentOrigin();
    std::lock_guard lock(mutex_);
    if (closed_ || (origin != nullptr && *origin)) return;
    posted_.push_back({std::move(work), origin});
    if (posted_.size() > 1) return;  // the loop has already been woken
  }
  eventfd_write(wakeup_, 1);
}

void LoopExecutor::Drop(const WorkOrigin& origin) {
  std::vector<Posted> dropped;  // destroyed without the lock, because destructors may post
  const auto drop = [&](std::vector<Posted>& all) {
    for (Posted& posted : all) {
      if (posted.origin == origin) dropped.push_back(std::exchange(posted, {}));
    }
  };
  drop(running_);
  const std::lock_guard lock(mutex_);
  drop(posted_);
}

void LoopExecutor::Keep(std::unique_ptr<WorkerPool> pool) {
  std::erase_if(pools_, [](const auto& kept) { return kept->Finish(absl::ZeroDuration()); });
  pools_.push_back(std::move(pool));
}

void LoopExecutor::Close() {
  if (!process_.is_here()) return;
  std::vector<Posted> unrun;  // destroyed without the lock, because destructors may post
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    unrun.swap(posted_);
  }
  readable_.reset();
  unrun.clear();
  pools_.clear();
}

void LoopExecutor::RunPosted() {
  const RunnerThread::Run here(runner_);
  eventfd_t ignored;
  eventfd_read(wakeup_, &ignored);
  {
    std::lock_guard lock(mutex_);
    running_.swap(posted_);
  }
  for (Posted& posted : running_) {
    Work work = std::exchange(posted.work, nullptr);
    if (work == nullptr) continue;  // dropped
    CurrentOrigin() = std::exchange(posted.origin, nullptr);
    CallFromC("work given to EventLoop::executor()", [&work] { std::move(work)(); });
    CurrentOrigin() = nullptr;
  }
  running_.clear();
}

}  // namespace retryq
