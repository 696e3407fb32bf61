#ifndef RETRYQ_CLI_COMMAND_H_
#define RETRYQ_CLI_COMMAND_H_

#include "cli/flags/flag_parser.h"

namespace retryq::cli {

// All of the command: runs what the arguments behind `retryq` ask for. Returns the exit code, by
// sysexits.h.
int RunCommand(const Arguments& arguments);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_COMMAND_H_
