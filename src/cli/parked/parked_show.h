#ifndef RETRYQ_CLI_PARKED_PARKED_SHOW_H_
#define RETRYQ_CLI_PARKED_PARKED_SHOW_H_

#include "cli/parked/parked_options.h"
#include "cli/parked/parked_pass.h"

namespace retryq::cli {

// The first parked message that matches, whole. kNotFound where none does.
ParkedResult ShowParked(const ParkedOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PARKED_PARKED_SHOW_H_
