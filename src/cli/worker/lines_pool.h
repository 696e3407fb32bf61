#ifndef RETRYQ_CLI_WORKER_LINES_POOL_H_
#define RETRYQ_CLI_WORKER_LINES_POOL_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/worker/command_pool.h"
#include "retryq/event_loop.h"

namespace retryq::cli {

// Keeps some programs running and gives them messages: `work --lines`.
//
// A program that ends is started again: at once if it has answered a message, otherwise after a
// pause, which grows. If it had one message, or one that timed out, that message has failed. If it
// had several, none has failed. Each is then given to a program that has no other message, before
// all newer messages. (The program may have handled some of them without answering.)
//
// A message does not fail if the program cannot be run (see Availability) or ends before it has
// read anything. If no program has answered a message yet, a message fails only after
// kCrashesThatCount programs, one after the other, have ended because of it. In these cases the
// messages of the program are put behind the others.
class LinesPool final : public JobPool {
 public:
  struct Options {
    CommandOptions command;
    std::size_t programs = 1;
    std::size_t in_flight = 1;  // messages that a program has at a time
    absl::Duration first_pause = absl::Milliseconds(100);
    absl::Duration longest_pause = absl::Seconds(10);
    // A program that is started after others failed counts as working after this time.
    absl::Duration proof = absl::Seconds(2);
    // The time from the first message to the report that no program has answered, and between
    // reports.
    absl::Duration silence = absl::Seconds(10);
    absl::Duration report_silence_every = absl::Minutes(1);
  };

  struct Callbacks {
    Availability::OnState on_state;
    // A program has ended although the pool is not stopping.
    std::function<void(const std::string& why)> program_ended;
    // Programs have messages, but none has answered a message yet.
    std::function<void(const std::string& remedy)> no_answer;
    // A program answers with an unknown field. Called once per program.
    std::function<void(const std::string& warning)> odd_answer;
  };

  static constexpr int kCrashesThatCount = 3;

  // `loop` must outlive it.
  LinesPool(EventLoop& loop, Options options, Callbacks callbacks);
  // Stops the programs and waits until they have ended. Settlements of open messages are dropped.
  ~LinesPool() override;
  LinesPool(const LinesPool&) = delete;
  LinesPool& operator=(const LinesPool&) = delete;

  void Start() override;
  void Handle(Delivery delivery, Settlement settlement) override;
  void RequeueWaiting() override { waiting_.Requeue(); }

  // Closes the stdin of each program once it has answered all its messages. If a program ends
  // earlier, its unanswered messages are requeued, except a message that caused the end, which has
  // failed.
  void Stop(std::function<void()> stopped) override;
  std::size_t open() const override;
  std::optional<OldestJob> Oldest() const override;
  std::optional<std::string> Trouble() const override { return availability_.Trouble(); }
  std::vector<Job> StopNow() override;

 private:
  class Program;
  struct Slot;
  struct End;

  void OnAnswered(Slot& slot);
  void OnEnded(Slot& slot, End end);
  bool HasFailed(End& end, bool works) const;
  void StartProgram(Slot& slot);
  void StartLater(Slot& slot);
  void Feed();
  void WatchForAnswer(absl::Duration patience);
  Program* WithRoom(bool alone) const;
  void CloseIdle();
  void CheckStopped();

  EventLoop& loop_;
  const Options options_;
  const Callbacks callbacks_;
  std::vector<std::unique_ptr<Slot>> slots_;
  WaitingJobs waiting_;
  Availability availability_;
  bool ever_answered_ = false;
  std::unique_ptr<Timer> silence_;  // until `no_answer` is called
  bool stopping_ = false;
  std::function<void()> stopped_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_LINES_POOL_H_
