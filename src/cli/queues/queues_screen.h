#ifndef RETRYQ_CLI_QUEUES_QUEUES_SCREEN_H_
#define RETRYQ_CLI_QUEUES_QUEUES_SCREEN_H_

#include <memory>
#include <optional>
#include <vector>

#include "cli/queues/queues_view.h"

namespace retryq::cli {

// The terminal at stdin and stdout in full-screen mode, with ncurses. The destructor restores the
// terminal. SIGTSTP also restores it until the process continues. Only one object at a time.
class QueuesScreen {
 public:
  // Returns null if the terminal (TERM) is not capable of it.
  static std::unique_ptr<QueuesScreen> Open();
  ~QueuesScreen();
  QueuesScreen(const QueuesScreen&) = delete;
  QueuesScreen& operator=(const QueuesScreen&) = delete;

  void Draw(QueuesView& view) const;

  // Updates the size of the terminal, after SIGWINCH.
  void Resize();

  // Returns the next pressed key with a function; nullopt if there is none.
  std::optional<QueuesView::Key> ReadKey();

 private:
  explicit QueuesScreen(void* screen);

  void* const screen_;  // SCREEN*
  bool colours_ = false;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_QUEUES_QUEUES_SCREEN_H_
