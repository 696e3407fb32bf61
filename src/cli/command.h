#ifndef RETRYQ_CLI_COMMAND_H_
#define RETRYQ_CLI_COMMAND_H_

#include <string>
#include <vector>

namespace retryq::cli {

// All of the command: runs what the arguments behind `retryq` ask for. Returns the exit code, by
// sysexits.h.
int RunCommand(const std::vector<std::string>& arguments);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_COMMAND_H_
