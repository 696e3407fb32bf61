#ifndef RETRYQ_CLI_FLAGS_FLAG_DESCRIPTION_H_
#define RETRYQ_CLI_FLAGS_FLAG_DESCRIPTION_H_

#include <string>
#include <vector>

namespace retryq::cli {

// A flag as a user meets it in the help, for completions and documentation.
struct FlagDescription {
  std::vector<std::string> names;  // "-h", "--help"; none for the argument that has no flag
  std::string value;               // what it takes: "QUEUE", "park|reject|discard"; empty: nothing
  std::string help;                // what it is for, on one line
  bool repeats = false;
};

// The words that a value is one of: of "park|reject|discard" all, of "PART|full" only what is not
// in capitals, which stands for something else.
std::vector<std::string> ChoicesOf(const FlagDescription& flag);

// Whether the value is the name of a file.
bool TakesAFile(const FlagDescription& flag);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_FLAGS_FLAG_DESCRIPTION_H_
