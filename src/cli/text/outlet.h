#ifndef RETRYQ_CLI_TEXT_OUTLET_H_
#define RETRYQ_CLI_TEXT_OUTLET_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/time/time.h"

namespace retryq::cli {

// Writes text to a descriptor on its own thread, so that its caller never waits: a write to a pipe
// that is not read or to a stopped terminal blocks forever. Thread-safe. SIGPIPE must be ignored.
//
// Text that the reader has not read yet is kept, up to a limit. Beyond it, and while writes fail,
// text is dropped until all kept text is written; a line then reports the number of dropped lines.
// After the reader has gone, everything is dropped.
class Outlet {
 public:
  struct Options {
    int fd;
    std::size_t most = std::size_t{1} << 20;  // limit of kept bytes
    // The line, with its line break, that replaces this number of dropped lines.
    std::function<std::string(std::uint64_t lines)> gap = &GapText;
    // Called when lines are dropped, at most once a minute, with the errno of the write; 0: the
    // reader is too slow. Must not call this outlet.
    std::function<void(int error)> on_trouble = nullptr;
  };

  explicit Outlet(Options options);
  // Waits up to a second for the reader.
  ~Outlet();
  Outlet(const Outlet&) = delete;
  Outlet& operator=(const Outlet&) = delete;

  // Never blocks.
  void Write(std::string_view text);

  // Waits up to `patience` until everything is written or dropped. Returns whether it is.
  bool Flush(absl::Duration patience);

  // The errno of the last write; 0 if it succeeded.
  int error() const;
  // The number of dropped lines that are not reported yet.
  std::uint64_t dropped() const;

  static std::string GapText(std::uint64_t lines);

 private:
  struct Shared;
  static void Run(const std::shared_ptr<Shared>& shared);

  // Outlives this object if its thread still waits for the reader.
  const std::shared_ptr<Shared> shared_;
};

// Writes to stderr and waits for it up to a second. While a write takes longer, further calls do
// not wait.
void WriteToStderr(std::string_view text);

// Writes a message to stderr in this way. Escapes all control characters except line breaks.
void WriteErrors(std::string_view text);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_TEXT_OUTLET_H_
