#ifndef RETRYQ_CLI_DOCTOR_DOCTOR_REPORT_H_
#define RETRYQ_CLI_DOCTOR_DOCTOR_REPORT_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

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

Finding Ok(std::string check, std::string finding);
Finding Warning(std::string check, std::string finding, std::string remedy);
Finding Problem(std::string check, std::string finding, std::string remedy);
// A problem because of a missing permission.
Finding Refused(std::string check, std::string finding, std::string remedy);
Finding Skipped(std::string check, std::string finding, std::string remedy);
// A problem from an error. The text after the first "; " of the error is the remedy.
Finding ProblemOf(std::string check, const absl::Status& error, std::string remedy = "");

// All findings, in the order of the checks.
class Report {
 public:
  // `tell` receives each finding at once.
  explicit Report(std::function<void(const Finding&)> tell) : tell_(std::move(tell)) {}

  void Add(Finding finding);
  void Add(std::vector<Finding> findings);

  const std::vector<Finding>& findings() const { return findings_; }

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
  std::vector<Finding> findings_;
};

// A finding as text: one line, and another one for the remedy if there is one.
std::string TextOf(const Finding& finding);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_DOCTOR_DOCTOR_REPORT_H_
