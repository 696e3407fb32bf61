#ifndef RETRYQ_CLI_TEXT_IO_H_
#define RETRYQ_CLI_TEXT_IO_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "retryq/broker/timers.h"

namespace retryq::cli {

// Owns a file descriptor and closes it. Move-only.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor() { Close(); }

  void Close();
  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// The size of one read from a pipe or a file.
inline constexpr std::size_t kReadSize = std::size_t{64} * 1024;

// Writes all of `data`; may block. Returns false, with the reason in errno, if it cannot be
// written. SIGPIPE must be ignored.
bool WriteAll(int fd, std::string_view data);

// Writes a result to stdout. Returns kDataLoss, for exit status 74, if it cannot be written.
absl::Status WriteResult(std::string_view result);

// Reads `fd` to its end, any bytes. Returns kInvalidArgument if there are more than `most`, by
// default the largest body that RabbitMQ can accept.
absl::StatusOr<std::string> ReadAll(int fd, std::size_t most = std::size_t{512} << 20);

// Prepares the process, however it was started: 0, 1 and 2 are open, SIGPIPE and SIGXFSZ are
// ignored, and children can be waited for. Reading a closed stdin and writing to a closed stdout
// fails: no input is not an empty body.
void PrepareProcess();

// Writes text to a descriptor on its own thread: a write to a pipe that is not read or to a stopped
// terminal blocks forever. Thread-safe. SIGPIPE must be ignored.
//
// Unread text is kept, up to a limit. Beyond it, and while writes fail, text is dropped until all
// kept text is written; a line then reports the number of dropped lines. After the reader has gone,
// everything is dropped.
class Outlet {
 public:
  struct Options {
    int fd;
    std::size_t most = std::size_t{1} << 20;  // limit of kept bytes
    // The line, with its line break, that replaces this number of dropped lines.
    std::function<std::string(std::uint64_t lines)> gap = &GapText;
    // Receives, at most once a minute, why lines are dropped: the errno of the write; 0: the reader
    // is too slow. Must not call this outlet.
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

// Writes a message to stderr, and waits for it up to a second. While a write takes longer, further
// calls do not wait. Escapes all control characters except line breaks.
void WriteErrors(std::string_view text);

// The remedy for a broker that cannot be reached for this reason.
std::string UnreachableRemedy(std::string_view why);

// Reports that a command waits, during the lifetime of the object: with the reason, after two
// seconds and then every ten seconds.
class Waiting {
 public:
  using Say = std::function<void(const std::string& text)>;

  // `what` is the object that the command waits for. `timers` must outlive it.
  Waiting(Timers& timers, std::string what, Say say = OnStderr);

  // Sets the reason for the wait; the last one counts.
  void Because(std::string_view why) { why_ = why; }

  // "retryq: waiting for …"
  static void OnStderr(const std::string& text);

 private:
  void SayAfter(absl::Duration pause);

  Timers& timers_;
  const std::string what_;
  const Say say_;
  std::string why_ = "no answer yet";
  std::unique_ptr<Timer> timer_;
};

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

  // `elapsed` is the time since the operation began. Writes only from time to time.
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

#endif  // RETRYQ_CLI_TEXT_IO_H_
