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

// Keeps some children alive and gives them messages: `work --lines`.
//
// A child that ends is started again: at once if it has answered anything, else after a pause that
// grows. If it had one message, or one that was not answered in time, that has failed. If it had
// several, none has, and each is then given to a child that has nothing else, before all that have
// come since. (It may have handled some of them, without a word.)
//
// No message has failed where the program cannot be run (see Availability), and where it ends
// before it has read anything. Where none has ever answered anything, the message has failed of
// which as many as kCrashesThatCount have ended, one after the other. What it had is then behind
// the others.
class LinesPool final : public JobPool, private LinesChild::Owner {
 public:
  struct Options {
    LinesChild::Options child;
    std::size_t children = 1;
    std::size_t in_flight = 1;  // messages that a child has at a time
    absl::Duration first_pause = absl::Milliseconds(100);
    absl::Duration longest_pause = absl::Seconds(10);
    // After so long a child that has been started where others failed is taken to work.
    absl::Duration proof = absl::Seconds(2);
    // From the first message until it is reported that there is no answer, and between reports.
    absl::Duration silence = absl::Seconds(10);
    absl::Duration report_silence_every = absl::Minutes(1);
  };

  struct Callbacks {
    Availability::OnState on_state;
    // A child has ended without being told to.
    std::function<void(const std::string& why)> child_ended;
    // Children have messages, and none has answered any message yet.
    std::function<void(const std::string& remedy)> no_answer;
    // A child answers, but not quite as it should. Once for each.
    std::function<void(const std::string& warning)> odd_answer;
  };

  static constexpr int kCrashesThatCount = 3;

  // `loop` must outlive it.
  LinesPool(EventLoop& loop, Options options, Callbacks callbacks);
  // Ends the children, and waits for that. Settlements of what is open are dropped.
  ~LinesPool() override;
  LinesPool(const LinesPool&) = delete;
  LinesPool& operator=(const LinesPool&) = delete;

  void Start() override;
  void Handle(Delivery delivery, Settlement settlement) override;
  void GiveBackWaiting() override { waiting_.Requeue(); }

  // Closes the stdin of each child once it has answered all. What they have when they end without
  // an answer goes back to its queue, except the first, which has failed.
  void Stop(std::function<void()> stopped) override;
  std::size_t open() const override;
  std::optional<OldestJob> Oldest() const override;
  std::optional<std::string> Trouble() const override { return availability_.Trouble(); }
  std::vector<Job> EndAll() override;

 private:
  struct Program {
    std::unique_ptr<LinesChild> child;
    std::unique_ptr<Timer> timer;  // of its start, or of its proof
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
  std::unique_ptr<Timer> silence_;  // until then
  bool stopping_ = false;
  std::function<void()> stopped_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_LINES_POOL_H_
