#ifndef RETRYQ_CLI_WORKER_SPAWN_H_
#define RETRYQ_CLI_WORKER_SPAWN_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "cli/text/io.h"

namespace retryq::cli {

// Two ends of a pipe that no child inherits by accident.
struct Pipe {
  FileDescriptor read_end;
  FileDescriptor write_end;
};

// 0, or errno.
int OpenPipe(Pipe* pipe);

// For our end: the child's keeps blocking.
void SetNonBlocking(const FileDescriptor& fd);

// A program that runs.
struct Spawned {
  pid_t pid = -1;          // also of its process group
  FileDescriptor process;  // a pidfd: readable once it has exited
};

// Starts a program, looked for in PATH unless it has a slash, with these three descriptors and no
// others, no signal blocked, in a process group of its own. 0, or errno, and then nothing runs.
// The caller waits for it, by WaitFor. It is killed when the calling thread ends before it, as with
// this process.
int Spawn(const std::vector<std::string>& command, const std::vector<std::string>& environment,
          int stdin_fd, int stdout_fd, int stderr_fd, Spawned* spawned);

// Waits until a child of Spawn has exited. Returns its status, as waitpid gives it. Once.
int WaitFor(pid_t pid);

// Reaps one child that has exited and is none of Spawn's: what a child left behind becomes a child
// of this process where it is PID 1, or a subreaper. Thread-safe.
enum class Reaped {
  kOrphan,
  kNone,     // there was none
  kUnknown,  // one of Spawn's hides whether there is one, until WaitFor is called for that
};
Reaped ReapOrphan();

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_SPAWN_H_
