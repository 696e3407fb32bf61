#ifndef RETRYQ_CLI_FLAGS_FLAG_DESCRIPTION_H_
#define RETRYQ_CLI_FLAGS_FLAG_DESCRIPTION_H_

#include <string>
#include <vector>

namespace retryq::cli {

// A flag as the help shows it, for completions and documentation.
struct FlagDescription {
  std::vector<std::string> names;  // "-h", "--help"; empty for a positional argument
  std::string value;               // "QUEUE", "park|reject|discard"; empty: takes none
  std::string help;                // its help, on one line
  bool repeats = false;
};

// The possible words of a value: all of "park|reject|discard"; of "PART|full" only "full", as
// capitals are a placeholder.
std::vector<std::string> ChoicesOf(const FlagDescription& flag);

// Returns whether the value is the name of a file.
bool TakesAFile(const FlagDescription& flag);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_FLAGS_FLAG_DESCRIPTION_H_
