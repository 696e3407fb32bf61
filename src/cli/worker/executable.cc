#include "cli/worker/executable.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include "absl/strings/str_split.h"

namespace retryq::cli {

std::vector<std::string> CandidatesFor(const std::string& program) {
  if (program.find('/') != std::string::npos) return {program};
  const char* path = std::getenv("PATH");
  std::vector<std::string> candidates;
  for (const std::string& directory :
       std::vector<std::string>(absl::StrSplit(path == nullptr ? "/bin:/usr/bin" : path, ':'))) {
    candidates.push_back(
        (std::filesystem::path(directory.empty() ? "." : directory) / program).string());
  }
  return candidates;
}

absl::Status CheckExecutable(const std::string& program) {
  bool exists = false;
  for (const std::string& candidate : CandidatesFor(program)) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(candidate, ignored)) continue;
    if (::access(candidate.c_str(), X_OK) == 0) return absl::OkStatus();
    exists = true;
  }
  if (exists)
    return absl::PermissionDeniedError("'" + program + "' is not executable: chmod +x it");
  const std::string where = program.find('/') == std::string::npos ? " in PATH" : "";
  return absl::NotFoundError("there is no program '" + program + "'" + where +
                             ": install it, or give its path");
}

}  // namespace retryq::cli
