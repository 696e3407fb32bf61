#ifndef RETRYQ_CLI_TEXT_IO_H_
#define RETRYQ_CLI_TEXT_IO_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

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

// Erases the current line of a terminal and moves to its beginning.
inline constexpr char kEraseLine[] = "\r\033[K";

// Writes text; may block. Returns the unwritten text, and the errno if there is any, otherwise 0.
// SIGPIPE must be ignored.
std::pair<std::string_view, int> WriteSome(int fd, std::string_view text);

// Writes all of `data`; may block. Returns false, with the reason in errno, if it cannot be
// written. SIGPIPE must be ignored.
bool WriteAll(int fd, std::string_view data);

// Writes a result to stdout. Returns kDataLoss, for exit status 74, if it cannot be written.
absl::Status WriteResult(std::string_view result);

// Reads `fd` to its end, any bytes.
absl::StatusOr<std::string> ReadAll(int fd);

// Prepares the process, however it was started: 0, 1 and 2 are open, SIGPIPE is ignored, and
// children can be waited for. If stdout was closed, writing to it fails: a result that cannot be
// written is an error.
void PrepareProcess();

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_TEXT_IO_H_
