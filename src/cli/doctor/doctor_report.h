#ifndef RETRYQ_CLI_DOCTOR_DOCTOR_REPORT_H_
#define RETRYQ_CLI_DOCTOR_DOCTOR_REPORT_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace retryq::cli {

// What one check has found.
struct Finding {
  enum class Result {
    kOk,
    kWarning,  // works, and may hurt
    kProblem,  // breaks something
    kSkipped,  // could not be looked at
  };

  std::string check;  // what was checked, such as "work queue"
  Result result = Result::kOk;
  std::string finding;
  std::string remedy = {};  // what to do about it; empty where it is ok
  bool refused = false;     // a right or a password is the problem
};

Finding Ok(std::string check, std::string finding);
Finding Warning(std::string check, std::string finding, std::string remedy);
Finding Problem(std::string check, std::string finding, std::string remedy);
// For lack of a right.
Finding Refused(std::string check, std::string finding, std::string remedy);
Finding Skipped(std::string check, std::string finding, std::string remedy);
// A problem whose kind is that of the error; what stands behind its first "; " is the remedy.
Finding ProblemOf(std::string check, const absl::Status& error, std::string remedy = "");

// All that has been found, in the order of the checks.
class Report {
 public:
  // `tell` hears of each finding at once.
  explicit Report(std::function<void(const Finding&)> tell) : tell_(std::move(tell)) {}

  void Add(Finding finding);
  void Add(std::vector<Finding> findings);

  const std::vector<Finding>& findings() const { return findings_; }

  // By sysexits.h: 0 without a problem, 77 where a right or a password is one, else 69.
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

// A finding for people: a line, and one for the remedy if there is one.
std::string TextOf(const Finding& finding);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_DOCTOR_DOCTOR_REPORT_H_
