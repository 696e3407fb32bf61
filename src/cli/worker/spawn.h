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
// Whoever calls waits for it.
int Spawn(const std::vector<std::string>& command, const std::vector<std::string>& environment,
          int stdin_fd, int stdout_fd, int stderr_fd, Spawned* spawned);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_SPAWN_H_
