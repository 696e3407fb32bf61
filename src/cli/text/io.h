#ifndef RETRYQ_CLI_TEXT_IO_H_
#define RETRYQ_CLI_TEXT_IO_H_

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace retryq::cli {

// A file descriptor that is closed with its owner. Move-only.
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

// Erases the line that a terminal is on, and goes to its beginning.
inline constexpr char kEraseLine[] = "\r\033[K";

// Writes all of `data`, waiting where it must. False if nobody can read it any more. SIGPIPE must
// be ignored.
bool WriteAll(int fd, std::string_view data);

// Writes text for people to stderr: its lines stay, and all else that a terminal would act on is
// escaped.
void WriteErrors(std::string_view text);

// Writes a result to stdout. kDataLoss, for exit status 74, if it cannot be written.
absl::Status WriteResult(std::string_view result);

// Everything from `fd` to its end, whatever the bytes are.
absl::StatusOr<std::string> ReadAll(int fd);

// Makes a process fit for what this command does with descriptors, pipes and children, whatever it
// was started with: 0, 1 and 2 are open, SIGPIPE is ignored, and children can be waited for. Where
// stdout was closed, writing to it fails: a result that nobody gets is an error.
void PrepareProcess();

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_TEXT_IO_H_
