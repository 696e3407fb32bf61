#include "cli/flags/flag_description.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"

namespace retryq::cli {

std::vector<std::string> ChoicesOf(const FlagDescription& flag) {
  std::vector<std::string> words = absl::StrSplit(flag.value, '|', absl::SkipEmpty());
  std::erase_if(words, [](const std::string& word) {
    return std::any_of(word.begin(), word.end(), absl::ascii_isupper);
  });
  return words;
}

bool TakesAFile(const FlagDescription& flag) { return flag.value == "FILE"; }

}  // namespace retryq::cli
