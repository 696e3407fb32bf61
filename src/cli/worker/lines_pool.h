#ifndef RETRYQ_CLI_WORKER_LINES_POOL_H_
#define RETRYQ_CLI_WORKER_LINES_POOL_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/worker/availability.h"
#include "cli/worker/job_pool.h"
#include "cli/worker/lines_child.h"
#include "loop/pauses.h"
#include "retryq/event_loop.h"

namespace retryq::cli {

// Keeps some children running and gives them messages: `work --lines`.
//
// A child that ends is restarted: at once if it has answered a message, otherwise after a pause,
// which grows. If it had one message, or one that timed out, that message has failed. If it had
// several, none has failed. Each is then given to a child that has no other message, before all
// newer messages. (The child may have handled some of them without answering.)
//
// A message does not fail if the program cannot be run (see Availability) or ends before it has
// read anything. If no child has answered a message yet, a message fails only after
// kCrashesThatCount children, one after the other, have ended because of it. In these cases the
// messages of the child are put behind the others.
class LinesPool final : public JobPool, private LinesChild::Owner {
 public:
  struct Options {
    LinesChild::Options child;
    std::size_t children = 1;
    std::size_t in_flight = 1;  // messages that a child has at a time
    absl::Duration first_pause = absl::Milliseconds(100);
    absl::Duration longest_pause = absl::Seconds(10);
    // A child that is started after others failed counts as working after this time.
    absl::Duration proof = absl::Seconds(2);
    // The time from the first message to the report that no child has answered, and between
    // reports.
    absl::Duration silence = absl::Seconds(10);
    absl::Duration report_silence_every = absl::Minutes(1);
  };

  struct Callbacks {
    Availability::OnState on_state;
    // A child has ended although the pool is not stopping.
    std::function<void(const std::string& why)> child_ended;
    // Children have messages, but none has answered a message yet.
    std::function<void(const std::string& remedy)> no_answer;
    // A child answers with an unknown field. Called once per child.
    std::function<void(const std::string& warning)> odd_answer;
  };

  static constexpr int kCrashesThatCount = 3;

  // `loop` must outlive it.
  LinesPool(EventLoop& loop, Options options, Callbacks callbacks);
  // Stops the children and waits until they have ended. Settlements of open messages are dropped.
  ~LinesPool() override;
  LinesPool(const LinesPool&) = delete;
  LinesPool& operator=(const LinesPool&) = delete;

  void Start() override;
  void Handle(Delivery delivery, Settlement settlement) override;
  void GiveBackWaiting() override { waiting_.Requeue(); }

  // Closes the stdin of each child once it has answered all its messages. If a child ends earlier,
  // its unanswered messages are requeued, except a message that caused the end, which has failed.
  void Stop(std::function<void()> stopped) override;
  std::size_t open() const override;
  std::optional<OldestJob> Oldest() const override;
  std::optional<std::string> Trouble() const override { return availability_.Trouble(); }
  std::vector<Job> EndAll() override;

 private:
  struct Program {
    std::unique_ptr<LinesChild> child;
    std::unique_ptr<Timer> timer;  // for its restart, or for `proof`
    Pauses pauses;
  };

  void OnAnswered(LinesChild& child) override;
  void OnOddAnswer(const std::string& warning) override { callbacks_.odd_answer(warning); }
  void OnEnded(LinesChild& child, LinesChild::End end) override;

  bool IsGuilty(LinesChild::End& end, bool works) const;
  void StartChild(Program& program);
  void StartLater(Program& program);
  void Feed();
  void WatchForAnswer(absl::Duration patience);
  LinesChild* WithRoom(bool alone);
  void CloseIdle();
  void CheckStopped();

  EventLoop& loop_;
  const Options options_;
  const Callbacks callbacks_;
  std::vector<Program> programs_;
  WaitingJobs waiting_;
  Availability availability_;
  bool ever_answered_ = false;
  std::unique_ptr<Timer> silence_;  // until `no_answer` is called
  bool stopping_ = false;
  std::function<void()> stopped_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_LINES_POOL_H_
