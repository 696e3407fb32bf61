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

// How far long work is: on a terminal a bar that is drawn over and over, elsewhere a line now and
// then. Work that is over soon says nothing.
class Progress {
 public:
  struct Options {
    std::function<void(std::string_view)> write = &WriteToStderr;
    bool is_terminal;        // it writes to one
    std::size_t width = 80;  // of the terminal, in columns
    std::string what;        // of the work
  };

  // `start` and all later times are since the same moment.
  Progress(Options options, absl::Duration start) : options_(std::move(options)), start_(start) {}

  // Done so far. Writes where it is time to.
  void Update(std::uint64_t done, std::uint64_t total, absl::Duration now);

  // Says something else, on a line of its own.
  void Say(const std::string& text);

  // Takes the bar off the terminal. Nothing is written afterwards.
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

// The same behind a bar, as wide as there is room for: "[#####---------------]  25% 500 of 2000 …"
std::string ProgressBar(std::uint64_t done, std::uint64_t total, absl::Duration elapsed,
                        std::size_t width);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MESSAGES_PROGRESS_H_
