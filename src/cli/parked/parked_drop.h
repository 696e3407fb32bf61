#ifndef RETRYQ_CLI_PARKED_PARKED_DROP_H_
#define RETRYQ_CLI_PARKED_PARKED_DROP_H_

#include "cli/parked/parked_options.h"
#include "cli/parked/parked_pass.h"

namespace retryq::cli {

// Takes the parked messages that match off their queue for good. Unless the options say yes, it
// counts them first, and asks on the terminal.
ParkedResult DropParked(const ParkedOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PARKED_PARKED_DROP_H_
