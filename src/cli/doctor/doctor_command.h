#ifndef RETRYQ_CLI_DOCTOR_DOCTOR_COMMAND_H_
#define RETRYQ_CLI_DOCTOR_DOCTOR_COMMAND_H_

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "cli/flags/flag_parser.h"
#include "cli/worker/work_command.h"

namespace retryq::cli {

// The result of one check.
struct Finding {
  enum class Result {
    kOk,
    kWarning,  // works, but may cause harm
    kProblem,  // does not work
    kSkipped,  // could not be checked
  };

  std::string check;  // the checked object, such as "work queue"
  Result result = Result::kOk;
  std::string finding;
  std::string remedy = {};  // empty if it is ok
  bool refused = false;     // because of a permission or a password
};
using Findings = std::vector<Finding>;

inline Finding Ok(std::string check, std::string finding) {
  return {std::move(check), Finding::Result::kOk, std::move(finding)};
}
inline Finding Warning(std::string check, std::string finding, std::string remedy) {
  return {std::move(check), Finding::Result::kWarning, std::move(finding), std::move(remedy)};
}
inline Finding Problem(std::string check, std::string finding, std::string remedy) {
  return {std::move(check), Finding::Result::kProblem, std::move(finding), std::move(remedy)};
}
inline Finding Skipped(std::string check, std::string finding, std::string remedy = "") {
  return {std::move(check), Finding::Result::kSkipped, std::move(finding), std::move(remedy)};
}
// A problem from an error. Without `remedy`, the text after the first "; " of the error is the
// remedy.
Finding ProblemOf(std::string check, const absl::Status& error, std::string remedy = "");

// All findings, in the order of the checks.
class Report {
 public:
  // `tell` receives each finding at once.
  explicit Report(std::function<void(const Finding&)> tell) : tell_(std::move(tell)) {}

  void Add(Finding finding);
  void Add(Findings findings);

  // The exit code, as in sysexits.h: 0 without a problem, 77 if a permission or a password is one,
  // otherwise 69.
  int exit_code() const;

  // "1 problem, 2 warnings, 11 ok, 1 skipped", and a line break.
  std::string Summary() const;

  // One JSON object, in one line: {"checks":[{"check","result","finding","remedy"},…]}.
  std::string Json() const;

 private:
  std::size_t Count(Finding::Result result) const;

  std::function<void(const Finding&)> tell_;
  Findings findings_;
};

// A finding as text: one line, and another one for the remedy if there is one.
std::string TextOf(const Finding& finding);

Parsed<WorkOptions> ParseDoctor(const Arguments& arguments);

// Runs all checks of `retryq doctor` and prints the findings to stdout. Returns the exit code.
int Doctor(const WorkOptions& worker);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_DOCTOR_DOCTOR_COMMAND_H_
