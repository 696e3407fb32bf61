#include "cli/text/io.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <system_error>

namespace retryq::cli {

void FileDescriptor::Close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

std::pair<std::string_view, int> WriteSome(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd writable = {fd, POLLOUT, 0};
      ::poll(&writable, 1, -1);
    } else if (errno != EINTR) {
      return {text, errno};
    }
  }
  return {text, 0};
}

bool WriteAll(int fd, std::string_view data) {
  const int error = WriteSome(fd, data).second;
  errno = error;
  return error == 0;
}

absl::Status WriteResult(std::string_view result) {
  if (WriteAll(STDOUT_FILENO, result)) return absl::OkStatus();
  return absl::DataLossError("cannot write to stdout: " +
                             std::error_code(errno, std::generic_category()).message());
}

absl::StatusOr<std::string> ReadAll(int fd) {
  std::string all;
  std::array<char, 65536> chunk;
  for (;;) {
    const ssize_t size = ::read(fd, chunk.data(), chunk.size());
    if (size == 0) return all;
    if (size > 0) {
      all.append(chunk.data(), static_cast<std::size_t>(size));
    } else if (errno == EAGAIN) {
      pollfd readable = {fd, POLLIN, 0};
      ::poll(&readable, 1, -1);
    } else if (errno != EINTR) {
      return absl::ErrnoToStatus(errno, "cannot read");
    }
  }
}

void PrepareProcess() {
  // open returns the lowest closed descriptor.
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) < 0) ::open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR);
  }
  // An ignored SIGCHLD, which exec inherits, would discard the exit codes of children.
  std::signal(SIGCHLD, SIG_DFL);
  std::signal(SIGPIPE, SIG_IGN);
}

}  // namespace retryq::cli
