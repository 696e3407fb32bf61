#ifndef RETRYQ_CLI_WORKER_SPAWN_H_
#define RETRYQ_CLI_WORKER_SPAWN_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "cli/text/io.h"

namespace retryq::cli {

// The two ends of a pipe, which children do not inherit.
struct Pipe {
  FileDescriptor read_end;
  FileDescriptor write_end;
};

// Returns 0 or an errno.
int OpenPipe(Pipe* pipe);

// For the end of this process; the end of the child stays blocking.
void SetNonBlocking(const FileDescriptor& fd);

// A running program.
struct Spawned {
  pid_t pid = -1;          // also of its process group
  FileDescriptor process;  // a pidfd: readable once it has exited
};

// Starts a program, which is looked up in PATH unless it contains a slash, with only these three
// descriptors, no blocked signals and its own process group. Returns 0, or an errno if it does not
// run. The caller must wait for it with WaitFor. The program is killed if the calling thread or
// this process ends first.
int Spawn(const std::vector<std::string>& command, const std::vector<std::string>& environment,
          int stdin_fd, int stdout_fd, int stderr_fd, Spawned* spawned);

// Waits until a child of Spawn has exited. Returns its status as waitpid reports it. Call it once
// per child.
int WaitFor(pid_t pid);

// Reaps one exited child that Spawn did not start: if this process is PID 1 or a subreaper, it
// becomes the parent of processes that its children left behind. Thread-safe.
enum class Reaped {
  kOrphan,
  kNone,     // no exited child
  kUnknown,  // an exited child of Spawn may hide an orphan until WaitFor is called for it
};
Reaped ReapOrphan();

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_SPAWN_H_
