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

// Writes text to a descriptor, on a thread of its own: a write waits for ever for a pipe that
// nobody reads, or a terminal that is stopped, and must not hold up its caller. Thread-safe.
// SIGPIPE must be ignored.
//
// What the reader does not take is kept, up to a limit. Beyond it, and while writes fail, text is
// dropped, until all that is kept is written; a line in its place says how many lines are missing.
// After a reader that has gone away everything is dropped.
class Outlet {
 public:
  struct Options {
    int fd;
    std::size_t most = std::size_t{1} << 20;  // bytes that are kept
    // The line, with its break, in the place of so many that were dropped.
    std::function<std::string(std::uint64_t lines)> gap = &GapText;
    // Called where lines are dropped, at most once a minute, with the errno of the write; 0: the
    // reader is too slow. Must not call this outlet.
    std::function<void(int error)> on_trouble = nullptr;
  };

  explicit Outlet(Options options);
  // Waits for the reader for a second.
  ~Outlet();
  Outlet(const Outlet&) = delete;
  Outlet& operator=(const Outlet&) = delete;

  // Never waits.
  void Write(std::string_view text);

  // Waits until all is written or dropped, for so long at the most. Returns whether it is.
  bool Flush(absl::Duration patience);

  // Of the last write; 0: it succeeded.
  int error() const;
  // Lines that are dropped, and not yet reported by a line in their place.
  std::uint64_t dropped() const;

  static std::string GapText(std::uint64_t lines);

 private:
  struct Shared;
  static void Run(const std::shared_ptr<Shared>& shared);

  // Outlives this where its thread waits for the reader.
  const std::shared_ptr<Shared> shared_;
};

// Writes to stderr and waits until that is done: for at most a second, and not again while that
// takes longer.
void WriteToStderr(std::string_view text);

// Writes text for people to stderr in this way: its lines stay, and everything else that a terminal
// would act on is escaped.
void WriteErrors(std::string_view text);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_TEXT_OUTLET_H_
