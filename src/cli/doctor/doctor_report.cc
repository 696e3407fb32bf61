#include <sysexits.h>

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/escaped_text.h"
#include "cli/doctor/doctor_command.h"
#include "cli/text/json_line.h"

namespace retryq::cli {
namespace {

const char* NameOf(Finding::Result result) {
  using Result = Finding::Result;
  return result == Result::kOk        ? "ok"
         : result == Result::kWarning ? "warning"
         : result == Result::kProblem ? "problem"
                                      : "skipped";
}

}  // namespace

Finding ProblemOf(std::string check, const absl::Status& error, std::string remedy) {
  std::string text(error.message());
  if (const std::size_t semicolon = text.find("; ");
      remedy.empty() && semicolon != std::string::npos) {
    remedy = text.substr(semicolon + 2);
    text.erase(semicolon);
  }
  Finding problem = Problem(std::move(check), std::move(text), std::move(remedy));
  problem.refused = absl::IsPermissionDenied(error) || absl::IsUnauthenticated(error);
  return problem;
}

void Report::Add(Finding finding) {
  findings_.push_back(std::move(finding));
  tell_(findings_.back());
}

void Report::Add(Findings findings) {
  for (Finding& finding : findings) Add(std::move(finding));
}

std::size_t Report::Count(Finding::Result result) const {
  return static_cast<std::size_t>(
      std::count_if(findings_.begin(), findings_.end(),
                    [result](const Finding& finding) { return finding.result == result; }));
}

int Report::exit_code() const {
  if (Count(Finding::Result::kProblem) == 0) return EX_OK;
  const bool refused = std::any_of(findings_.begin(), findings_.end(),
                                   [](const Finding& finding) { return finding.refused; });
  return refused ? EX_NOPERM : EX_UNAVAILABLE;
}

std::string Report::Summary() const {
  const auto counted = [this](Finding::Result result, const char* plural) {
    const std::size_t count = Count(result);
    return absl::StrCat(count, " ", NameOf(result), count == 1 ? "" : plural);
  };
  return absl::StrCat(
      counted(Finding::Result::kProblem, "s"), ", ", counted(Finding::Result::kWarning, "s"), ", ",
      counted(Finding::Result::kOk, ""), ", ", counted(Finding::Result::kSkipped, ""), "\n");
}

std::string Report::Json() const {
  using Json = nlohmann::ordered_json;
  Json checks = Json::array();
  for (const Finding& finding : findings_) {
    checks.push_back({{"check", finding.check},
                      {"result", NameOf(finding.result)},
                      {"finding", finding.finding},
                      {"remedy", finding.remedy}});
  }
  const Json all = {{"checks", std::move(checks)}};
  return JsonLine(all).append("\n");
}

std::string TextOf(const Finding& finding) {
  std::string text = absl::StrFormat("%-8s  %-18s  %s\n", NameOf(finding.result), finding.check,
                                     EscapedText(finding.finding));
  if (!finding.remedy.empty()) {
    absl::StrAppend(&text, std::string(30, ' '), "remedy: ", EscapedText(finding.remedy), "\n");
  }
  return text;
}

}  // namespace retryq::cli
