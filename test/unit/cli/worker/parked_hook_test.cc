#include "cli/worker/parked_hook.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cli/text/io.h"
#include "support/make_message.h"
#include "support/temporary_directory.h"

namespace retryq::cli {
namespace parked_hook_test {

using ::retryq::testing::MakeMessage;
using ::retryq::testing::TemporaryDirectory;

// A loop that this thread runs: until the hook says that it is idle.
class QueueingExecutor : public Executor {
 public:
  void Post(std::function<void()> work) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    work_.push_back(std::move(work));
    changed_.notify_all();
  }

  void RunUntil(const bool& done) {
    while (!done) {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return !work_.empty(); });
      const std::function<void()> work = std::move(work_.front());
      work_.pop_front();
      lock.unlock();
      work();
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
};

class ParkedHookTest : public ::testing::Test {
 protected:
  void SetUp() override { PrepareProcess(); }

  ParkedHook& MakeHook(std::string line, std::size_t most_waiting = 10) {
    hook_.emplace(ParkedHook::Options{.line = std::move(line),
                                      .timeout = absl::Minutes(1),
                                      .max_attempts = 9,
                                      .most_waiting = most_waiting,
                                      .children = {.stdout_fd = stdout_.get(),
                                                   .kill_grace = absl::Milliseconds(50)}},
                  WorkerPool::Create(1).value(), loop_,
                  [this](const Delivery&, const std::string& id, const std::string& error) {
                    failures_.push_back(id + ": " + error);
                  });
    return *hook_;
  }

  void Park(std::string_view body, std::string_view id) {
    const Delivery delivery(MakeMessage({.body = body}),
                            std::make_shared<const std::string>("orders"),
                            {.failures = 2, .last_error = "earlier"});
    hook_->OnParked({.kind = EventKind::kParked,
                     .time = absl::UnixEpoch(),
                     .id = id,
                     .error = "gave up",
                     .delivery = &delivery});
  }

  void RunUntilIdle() {
    bool idle = false;
    hook_->WhenIdle([&idle] { idle = true; });
    loop_->RunUntil(idle);
  }

  std::string Stdout() const { return directory_.Read("stdout"); }

  TemporaryDirectory directory_;
  FileDescriptor stdout_{
      ::open(directory_.File("stdout").c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600)};
  const std::shared_ptr<QueueingExecutor> loop_ = std::make_shared<QueueingExecutor>();
  std::vector<std::string> failures_;
  std::optional<ParkedHook> hook_;
};

TEST_F(ParkedHookTest, RunsTheLineForEachMessage) {
  MakeHook("cat; echo \" $RETRYQ_ID $RETRYQ_ATTEMPT/$RETRYQ_MAX_ATTEMPTS $RETRYQ_LAST_ERROR\"");
  Park("one", "id-1");
  Park("two", "id-2");
  RunUntilIdle();
  EXPECT_EQ(Stdout(), "one id-1 3/9 gave up\ntwo id-2 3/9 gave up\n");
  EXPECT_TRUE(failures_.empty());
  EXPECT_EQ(hook_->unfinished(), 0U);
}

TEST_F(ParkedHookTest, SaysWhatFailedAndGoesOn) {
  MakeHook("echo \"bad $RETRYQ_ID\" >&2; exit 4");
  Park("one", "id-1");
  Park("two", "id-2");
  RunUntilIdle();
  EXPECT_EQ(failures_,
            (std::vector<std::string>{"id-1: exit 4: bad id-1", "id-2: exit 4: bad id-2"}));
}

TEST_F(ParkedHookTest, KeepsNoMoreThanItMay) {
  // The first is taken off the queue at once or not: what waits is the first two, or the second and
  // third.
  MakeHook("sleep 600", /*most_waiting=*/1);
  for (const char* id : {"id-1", "id-2", "id-3"}) Park("body", id);
  EXPECT_LE(hook_->unfinished(), 2U);
  hook_.reset();
  bool all_run = false;
  loop_->Post([&all_run] { all_run = true; });
  loop_->RunUntil(all_run);
  ASSERT_FALSE(failures_.empty());
  EXPECT_EQ(failures_.front().substr(6), "not run: too many parked messages wait for it");
}

TEST_F(ParkedHookTest, EndsWhatRunsWhenDestroyed) {
  MakeHook("echo started; sleep 600");
  Park("body", "id-1");
  while (Stdout().empty()) std::this_thread::yield();
  hook_.reset();
}

}  // namespace parked_hook_test
}  // namespace retryq::cli
