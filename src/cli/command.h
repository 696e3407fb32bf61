#ifndef RETRYQ_CLI_COMMAND_H_
#define RETRYQ_CLI_COMMAND_H_

#include <string>
#include <vector>

namespace retryq::cli {

// Runs the command with the arguments after `retryq`. Returns the exit code, by sysexits.h.
int RunCommand(const std::vector<std::string>& arguments);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_COMMAND_H_
