#include "loop/worker_pool.h"

#include <chrono>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace retryq {

namespace {

constexpr std::chrono::seconds kStepPatience{5};

}  // namespace

WorkOrigin& CurrentOrigin() {
  thread_local WorkOrigin origin;
  return origin;
}

absl::StatusOr<std::unique_ptr<WorkerPool>> WorkerPool::Create(int threads, bool in_step) {
  std::unique_ptr<WorkerPool> pool(new WorkerPool);
  pool->state_->in_step = in_step;
  std::vector<std::thread>& started = pool->state_->threads;
  try {
    for (int i = 0; i < threads; ++i) {
      started.emplace_back([state = pool->state_.get()] { state->Run(); });
    }
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "cannot create thread ", started.size() + 1, " of ", threads, ": ", error.code().message(),
        "; use fewer threads, or raise the limit of processes (ulimit -u, or that of the "
        "container)"));
  }
  return pool;
}

WorkerPool::~WorkerPool() {
  if (!process_.is_here()) {
    // Its threads do not exist here, so they can be neither joined nor destroyed.
    static_cast<void>(new std::shared_ptr<State>(std::move(state_)));
    return;
  }
  Finish(absl::InfiniteDuration());
  for (std::thread& thread : state_->threads) thread.join();
}

bool WorkerPool::Finish(absl::Duration patience) {
  std::deque<Work> dropped;  // destroyed after the lock is released
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->stopping = true;
  dropped.swap(state_->waiting);
  lock.unlock();
  state_->changed.notify_all();
  dropped.clear();
  lock.lock();
  const auto is_idle = [this] { return state_->running == 0; };
  if (patience != absl::InfiniteDuration()) {
    return state_->changed.wait_for(lock, absl::ToChronoNanoseconds(patience), is_idle);
  }
  state_->changed.wait(lock, is_idle);
  return true;
}

void WorkerPool::Submit(Work work) {
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    state_->waiting.push_back(std::move(work));
  }
  state_->changed.notify_one();
  if (!state_->in_step) return;
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->AwaitQuiet(lock);
}

void WorkerPool::EndWaits() {
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    state_->waits_end = true;
  }
  state_->answered.notify_all();
}

std::weak_ptr<WorkerPool::State>& WorkerPool::State::OfThread() {
  thread_local std::weak_ptr<State> pool;
  return pool;
}

void WorkerPool::State::AwaitQuiet(std::unique_lock<std::mutex>& lock) {
  quiet.wait_for(lock, kStepPatience, [this] {
    return running == blocked && (waiting.empty() || running == threads.size());
  });
}

void WorkerPool::DropWaiting() {
  std::deque<Work> dropped;  // destroyed after the lock is released
  const std::lock_guard<std::mutex> lock(state_->mutex);
  dropped.swap(state_->waiting);
}

void WorkerPool::State::Run() {
  CurrentOrigin() = origin;
  OfThread() = weak_from_this();
  std::unique_lock<std::mutex> lock(mutex);
  while (true) {
    changed.wait(lock, [this] { return stopping || !waiting.empty(); });
    if (stopping) return;
    {
      Work work = std::move(waiting.front());
      waiting.pop_front();
      ++running;
      lock.unlock();
      std::move(work)();
    }
    lock.lock();
    --running;
    if (stopping) changed.notify_all();
    if (in_step) quiet.notify_all();
  }
}

std::shared_ptr<AnswerForPool> AnswerForPool::Make() {
  std::shared_ptr<WorkerPool::State> pool = WorkerPool::State::OfThread().lock();
  if (pool == nullptr || !pool->in_step) return nullptr;
  return std::shared_ptr<AnswerForPool>(new AnswerForPool(std::move(pool)));
}

void AnswerForPool::Set(absl::Status answer) {
  std::unique_lock<std::mutex> lock(pool_->mutex);
  answer_ = std::move(answer);
  if (!std::exchange(waiting_, false)) return;
  --pool_->blocked;
  pool_->answered.notify_all();
  pool_->AwaitQuiet(lock);
}

absl::Status AnswerForPool::Wait() {
  std::unique_lock<std::mutex> lock(pool_->mutex);
  if (answer_) return *answer_;
  waiting_ = true;
  ++pool_->blocked;
  pool_->quiet.notify_all();
  pool_->answered.wait(lock, [this] { return answer_.has_value() || pool_->waits_end; });
  if (answer_) return *answer_;
  waiting_ = false;
  --pool_->blocked;
  return absl::CancelledError("the consumer of the handler is destroyed");
}

}  // namespace retryq
