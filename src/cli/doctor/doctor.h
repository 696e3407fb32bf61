#ifndef RETRYQ_CLI_DOCTOR_DOCTOR_H_
#define RETRYQ_CLI_DOCTOR_DOCTOR_H_

#include "cli/doctor/doctor_options.h"

namespace retryq::cli {

// `retryq doctor`: looks at everything and prints what it finds to stdout. Returns the exit code.
int Doctor(const DoctorOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_DOCTOR_DOCTOR_H_
