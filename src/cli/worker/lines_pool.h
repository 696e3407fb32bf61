#ifndef RETRYQ_CLI_WORKER_LINES_POOL_H_
#define RETRYQ_CLI_WORKER_LINES_POOL_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/worker/lines_child.h"
#include "retryq/delivery.h"
#include "retryq/event_loop.h"
#include "retryq/settlement.h"

namespace retryq::cli {

// Keeps some children alive and gives them messages: `work --lines`. Everything on the loop's
// thread.
//
// A child that ends is started again: at once if it has answered anything, else after a pause that
// grows. Of the messages that it had, the first has failed, as it was the one that the child was
// at; the others are given to the next child that has room, before all that have come since, as if
// it had not had them. (It may have handled some of them, without a word.) Where the program cannot
// be run at all, no message has failed.
class LinesPool final : private LinesChild::Owner {
 public:
  struct Options {
    LinesChild::Options child;
    std::size_t children = 1;
    std::size_t in_flight = 1;  // messages that a child has at a time
    absl::Duration first_pause = absl::Milliseconds(100);
    absl::Duration longest_pause = absl::Seconds(10);
    absl::Duration recheck = absl::Seconds(2);  // where the program cannot be run
  };

  struct Callbacks {
    // The program cannot be run, and why; or, with nothing, it can again. Once for each change.
    std::function<void(std::optional<std::string> why_not)> availability;
    // A child has ended that nobody has told to.
    std::function<void(const std::string& why)> child_ended;
  };

  // `loop` must outlive it.
  LinesPool(EventLoop& loop, Options options, Callbacks callbacks);
  // Ends the children, and waits for that. Settlements of what is open are dropped.
  ~LinesPool();
  LinesPool(const LinesPool&) = delete;
  LinesPool& operator=(const LinesPool&) = delete;

  // Starts the children.
  void Start();

  void Handle(Delivery delivery, Settlement settlement);

  // Gives nothing more to children: what none has goes back to its queue. Closes the stdin of each
  // once it has answered all; calls `stopped` when the last has ended. What they have when they end
  // without an answer goes back as well, but for the first, which has failed.
  void Stop(std::function<void()> stopped);

  // Messages that children have.
  std::size_t open() const;

  // Ends the children, and waits for that. Answers what nobody has settled: whoever drops it makes
  // it a failure, as long as its consumer lives.
  std::vector<LinesJob> EndAll();

 private:
  struct Slot {
    std::unique_ptr<LinesChild> child;
    std::unique_ptr<Timer> restart;
    std::uint32_t in_vain = 0;  // starts since the last answer
  };

  void OnAnswered(LinesChild& child) override;
  void OnEnded(LinesChild& child, LinesChild::End end) override;

  void StartChild(Slot& slot);
  void StartLater(Slot& slot, absl::Duration pause);
  void SetUnavailable(std::optional<std::string> why_not);
  void Feed();
  LinesChild* WithRoom();
  void CloseIdle();
  void CheckStopped();

  EventLoop& loop_;
  const Options options_;
  const Callbacks callbacks_;
  std::vector<Slot> slots_;
  std::deque<LinesJob> waiting_;
  bool unavailable_ = false;
  bool stopping_ = false;
  std::function<void()> stopped_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_LINES_POOL_H_
