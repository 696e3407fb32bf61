#include "cli/worker/parked_hook.h"

#include <optional>
#include <utility>

#include "cli/worker/child_environment.h"
#include "cli/worker/outcome_of_child.h"

namespace retryq::cli {

ParkedHook::ParkedHook(Options options, std::unique_ptr<WorkerPool> thread,
                       std::shared_ptr<Executor> loop, OnFailure on_failure)
    : options_(std::move(options)),
      command_({"/bin/sh", "-c", options_.line}),
      loop_(std::move(loop)),
      on_failure_(std::make_shared<const OnFailure>(std::move(on_failure))),
      children_(options_.children),
      thread_(std::move(thread)) {
  thread_->Submit([this] { Work(); });
}

ParkedHook::~ParkedHook() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  children_.EndAll();
  thread_.reset();
}

void ParkedHook::OnParked(const Event& parked) {
  if (parked.delivery == nullptr) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (waiting_.size() >= options_.most_waiting) {
    Fail(*parked.delivery, std::string(parked.id), "not run: too many parked messages wait for it");
    return;
  }
  // The delivery does not count the failure that parked it.
  waiting_.push_back({.delivery = *parked.delivery,
                      .id = std::string(parked.id),
                      .failures = parked.delivery->attempt() + 1,
                      .error = std::string(parked.error)});
  changed_.notify_all();
}

void ParkedHook::WhenIdle(std::function<void()> idle) {
  const std::lock_guard<std::mutex> lock(mutex_);
  when_idle_ = std::move(idle);
  TellIfIdle();
}

std::size_t ParkedHook::unfinished() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return waiting_.size() + (busy_ ? 1 : 0);
}

void ParkedHook::Work() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    std::optional<Task> task = std::move(waiting_.front());
    waiting_.pop_front();
    busy_ = true;
    lock.unlock();
    Run(*task);
    task.reset();
    lock.lock();
    busy_ = false;
    TellIfIdle();
  }
}

void ParkedHook::Run(const Task& task) {
  const std::vector<std::string> environment =
      ChildEnvironment({.delivery = task.delivery,
                        .id = task.id,
                        .failures = task.failures,
                        .last_error = task.error,
                        .max_attempts = options_.max_attempts});
  const ChildResult result = children_.Run({.command = command_,
                                            .environment = environment,
                                            .input = task.delivery.body(),
                                            .timeout = options_.timeout});
  if (result.end == ChildResult::End::kExited && result.code == 0) return;
  Fail(task.delivery, task.id, DescribeEnd(result, options_.timeout));
}

void ParkedHook::Fail(const Delivery& parked, const std::string& id, const std::string& error) {
  loop_->Post([on_failure = on_failure_, parked, id, error] { (*on_failure)(parked, id, error); });
}

void ParkedHook::TellIfIdle() {
  if (when_idle_ == nullptr || busy_ || !waiting_.empty()) return;
  loop_->Post(std::exchange(when_idle_, nullptr));
}

}  // namespace retryq::cli
