#include "cli/parked/editor.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "cli/text/io.h"

namespace retryq::cli {
namespace {

// The value of the first variable that is set; empty if none is.
std::string EditorLine() {
  for (const char* const name : {"VISUAL", "EDITOR"}) {
    const char* const value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return "";
}

// Ignores Ctrl-C, which is for the editor. Returns the editor's wait status, or -1 with errno.
int RunOn(const std::string& editor, const std::string& path) {
  const std::string script = editor + " \"$1\"";
  const auto interrupted = std::signal(SIGINT, SIG_IGN);
  const auto quit = std::signal(SIGQUIT, SIG_IGN);
  int status = -1;
  const pid_t pid = ::fork();
  if (pid == 0) {
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGQUIT, SIG_DFL);
    std::signal(SIGPIPE, SIG_DFL);
    for (const char* const with_password : {"RETRYQ_URL", "RETRYQ_MANAGEMENT_URL"}) {
      ::unsetenv(with_password);
    }
    ::execl("/bin/sh", "sh", "-c", script.c_str(), editor.c_str(), path.c_str(), nullptr);
    ::_exit(127);
  }
  if (pid > 0) {
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
  }
  std::signal(SIGINT, interrupted);
  std::signal(SIGQUIT, quit);
  return status;
}

absl::Status FileError(const std::string& path) {
  return absl::UnavailableError(
      absl::StrCat("the file to edit, ", path, ": ", std::strerror(errno), "; see TMPDIR"));
}

// Opens the file again, as an editor may have replaced it.
absl::StatusOr<std::string> ReadFile(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return FileError(path);
  return ReadAll(file.get());
}

}  // namespace

EditedFile::~EditedFile() {
  if (!path_.empty() && !keep_) ::unlink(path_.c_str());
}

absl::StatusOr<std::string> EditedFile::Edit(const std::string& text) {
  const std::string editor = EditorLine();
  if (editor.empty()) {
    return absl::FailedPreconditionError("there is no editor: set VISUAL or EDITOR");
  }
  const char* const directory = std::getenv("TMPDIR");
  std::string path = absl::StrCat(directory != nullptr && *directory != '\0' ? directory : "/tmp",
                                  "/retryq-edit-XXXXXX");
  {
    const FileDescriptor file(::mkostemp(path.data(), O_CLOEXEC));
    if (!file.is_open()) return FileError(path);
    path_ = path;
    if (!WriteAll(file.get(), text)) return FileError(path);
  }
  const int status = RunOn(editor, path_);
  if (status != 0) {
    std::string why = absl::StrCat(
        "the editor '", editor, "' failed",
        WIFEXITED(status) ? absl::StrCat(" with exit status ", WEXITSTATUS(status)) : "",
        ": nothing was replayed");
    // Keeps the work of an editor session that was cut off.
    if (ReadFile(path_).value_or(text) != text) {
      Keep();
      absl::StrAppend(&why, "\nwhat was edited is in ", path_);
    }
    return absl::FailedPreconditionError(why);
  }
  return ReadFile(path_);
}

}  // namespace retryq::cli
