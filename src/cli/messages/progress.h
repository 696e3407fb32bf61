#ifndef RETRYQ_CLI_MESSAGES_PROGRESS_H_
#define RETRYQ_CLI_MESSAGES_PROGRESS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "cli/text/outlet.h"

namespace retryq::cli {

// Shows the progress of a long operation: a bar on a terminal, otherwise a line from time to time.
// A short operation prints nothing.
class Progress {
 public:
  struct Options {
    std::function<void(std::string_view)> write = &WriteToStderr;
    bool is_terminal;        // whether `write` writes to a terminal
    std::size_t width = 80;  // of the terminal, in columns
    std::string what;        // name of the operation
  };

  // `start` and all later times have the same origin.
  Progress(Options options, absl::Duration start) : options_(std::move(options)), start_(start) {}

  // Updates the progress. Writes only from time to time.
  void Update(std::uint64_t done, std::uint64_t total, absl::Duration now);

  // Prints another text, on its own line.
  void Say(const std::string& text);

  // Removes the bar from the terminal. Later calls print nothing.
  void End();

 private:
  const Options options_;
  const absl::Duration start_;
  absl::Duration next_ = absl::ZeroDuration();  // since the start
  bool drawn_ = false;
  bool ended_ = false;
};

// "orders.parked: 500 of 2000, 250/s, 6s left"
std::string ProgressLine(const std::string& what, std::uint64_t done, std::uint64_t total,
                         absl::Duration elapsed);

// The same after a bar that fits into `width`: "[#####---------------] 25% 500 of 2000 …"
std::string ProgressBar(std::uint64_t done, std::uint64_t total, absl::Duration elapsed,
                        std::size_t width);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MESSAGES_PROGRESS_H_
