#ifndef RETRYQ_CLI_QUEUES_QUEUES_SCREEN_H_
#define RETRYQ_CLI_QUEUES_QUEUES_SCREEN_H_

#include <memory>
#include <optional>
#include <vector>

#include "cli/queues/queues_view.h"

namespace retryq::cli {

// The terminal at stdin and stdout, full-screen, by ncurses: from now on until the object goes,
// which leaves the terminal as it was. Stopped by SIGTSTP it gives the terminal back meanwhile.
// One at a time.
class QueuesScreen {
 public:
  // Null where the terminal cannot do it (TERM).
  static std::unique_ptr<QueuesScreen> Open();
  ~QueuesScreen();
  QueuesScreen(const QueuesScreen&) = delete;
  QueuesScreen& operator=(const QueuesScreen&) = delete;

  void Draw(QueuesView& view) const;

  // Takes the terminal's size anew, after SIGWINCH.
  void Resize();

  // The next key that has been pressed and means something; nothing if there is none.
  std::optional<QueuesView::Key> ReadKey();

 private:
  explicit QueuesScreen(void* screen);

  void* const screen_;  // SCREEN*
  bool colours_ = false;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_QUEUES_QUEUES_SCREEN_H_
