#ifndef RETRYQ_CLI_DOCTOR_DOCTOR_FLAGS_H_
#define RETRYQ_CLI_DOCTOR_DOCTOR_FLAGS_H_

#include <variant>

#include "absl/status/statusor.h"
#include "cli/doctor/doctor_options.h"
#include "cli/flags/flag_parser.h"

namespace retryq::cli {

// The arguments behind `retryq doctor`, RETRYQ_URL and RETRYQ_MANAGEMENT_URL taken into account.
// kInvalidArgument with all that is wrong, a line each, naming the flag and the remedy.
absl::StatusOr<std::variant<DoctorOptions, Answer>> ParseDoctor(const Arguments& arguments);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_DOCTOR_DOCTOR_FLAGS_H_
