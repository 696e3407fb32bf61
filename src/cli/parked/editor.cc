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

// The line of the first variable that is set; empty: none is.
std::string EditorLine() {
  for (const char* const name : {"VISUAL", "EDITOR"}) {
    const char* const value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return "";
}

// Ctrl-C in an editor is the editor's. Returns its wait status, or -1 and errno.
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
    return absl::FailedPreconditionError(absl::StrCat(
        "the editor '", editor, "' failed",
        WIFEXITED(status) ? absl::StrCat(" with exit status ", WEXITSTATUS(status)) : "",
        ": nothing was replayed"));
  }
  // An editor may have put another file in its place.
  const FileDescriptor file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return FileError(path_);
  return ReadAll(file.get());
}

}  // namespace retryq::cli
