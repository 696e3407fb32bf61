#ifndef RETRYQ_CLI_QUEUES_QUEUES_VIEW_H_
#define RETRYQ_CLI_QUEUES_QUEUES_VIEW_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/queues/delay_queue_status.h"

namespace retryq::cli {

// The content of a line, for its colour.
enum class LineStyle { kTitle, kHeading, kIdle, kWaiting, kOdd, kTotals, kFooter, kError };

struct ViewLine {
  std::string text;
  LineStyle style = LineStyle::kTitle;
  friend bool operator==(const ViewLine&, const ViewLine&) = default;
};

// The full-screen view of `retryq queues --watch` and its keys. Independent of the terminal.
class QueuesView {
 public:
  struct Options {
    std::string vhost;
    std::string prefix;
    absl::Duration interval;
  };

  enum class Key { kUp, kDown, kPageUp, kPageDown, kTop, kBottom, kSort, kPause, kHelp, kQuit };

  explicit QueuesView(Options options) : options_(std::move(options)) {}

  void Show(DelayQueueList list);
  // The reason why there is no newer list; empty if there is one.
  void ShowError(std::string error) { error_ = std::move(error); }

  void Press(Key key);

  bool paused() const { return paused_; }
  bool quit() const { return quit_; }

  // Returns at most `height` lines of at most `width` bytes, and so columns.
  std::vector<ViewLine> Render(std::size_t width, std::size_t height);

 private:
  enum class Order { kTtl, kWaiting, kNextDue, kRate };

  static std::string NameOf(Order order);
  // The sort key of a line, in ascending order; equal lines are sorted by TTL and name.
  double KeyOf(const DelayQueueStatus& queue) const;
  void Sort();
  std::vector<ViewLine> Rows() const;
  std::vector<ViewLine> Help() const;

  const Options options_;
  DelayQueueList list_;
  std::string error_;
  Order order_ = Order::kTtl;
  std::size_t top_ = 0;   // first row on the screen
  std::size_t page_ = 1;  // rows that fit, as last rendered
  bool paused_ = false;
  bool help_ = false;
  bool quit_ = false;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_QUEUES_QUEUES_VIEW_H_
