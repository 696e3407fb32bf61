#ifndef RETRYQ_CLI_MESSAGES_PROGRESS_H_
#define RETRYQ_CLI_MESSAGES_PROGRESS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/time/time.h"

namespace retryq::cli {

// The number of columns of the terminal on this descriptor; `otherwise` if it is not a terminal or
// its size is unknown.
std::size_t TerminalWidth(int fd, std::size_t otherwise);

// Shows the progress of a long operation: a bar on a terminal, otherwise a line from time to time.
// A short operation prints nothing.
class Progress {
 public:
  struct Options {
    std::function<void(std::string_view)> write;
    bool is_terminal;        // whether `write` writes to a terminal
    std::size_t width = 80;  // of the terminal, in columns
    std::string what;        // name of the operation
  };

  explicit Progress(Options options) : options_(std::move(options)) {}
  static Progress OnStderr(const std::string& what);

  // Updates the progress. `elapsed` is the time since the operation began. Writes only from time to
  // time.
  void Update(std::uint64_t done, std::uint64_t total, absl::Duration elapsed);

  // Prints another text, on its own line.
  void Say(const std::string& text);

  // Removes the bar from the terminal. Later calls print nothing.
  void End();

 private:
  Options options_;
  absl::Duration next_ = absl::ZeroDuration();
  bool drawn_ = false;
  bool ended_ = false;
};

// "[#####---------------]  25% 500 of 2000, 250/s, 6s left", fit into `width`.
std::string ProgressBar(std::uint64_t done, std::uint64_t total, absl::Duration elapsed,
                        std::size_t width);

// Asks on the terminal and waits for the reply; discards keys that were pressed before. Returns
// true for "y", "Y" and "yes" only.
bool Agrees(const std::string& question);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MESSAGES_PROGRESS_H_
