#ifndef RETRYQ_TEST_UNIT_CLI_FLAGS_PARSED_ARGUMENTS_H_
#define RETRYQ_TEST_UNIT_CLI_FLAGS_PARSED_ARGUMENTS_H_

#include "absl/strings/str_split.h"
#include "cli/flags/flag_parser.h"
#include "support/test.h"

namespace retryq::cli {

// The words of a line; '' is an empty one.
inline Arguments Words(const std::string& line) {
  Arguments words = absl::StrSplit(line, ' ', absl::SkipEmpty());
  for (std::string& word : words) {
    if (word == "''") word.clear();
  }
  return words;
}

// A test of flags without the variables of the environment that have the same effect.
class FlagsTest : public ::testing::Test {
 protected:
  FlagsTest() { UnsetVariables(); }
  ~FlagsTest() override { UnsetVariables(); }
  static void UnsetVariables() {
    for (const char* name : {"RETRYQ_URL", "RETRYQ_URL_FILE", "RETRYQ_MANAGEMENT_URL"}) {
      ::unsetenv(name);
    }
  }
};

// Returns the options of valid arguments.
template <typename Options>
Options OptionsIn(const Parsed<Options>& parsed) {
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return parsed.ok() ? std::get<Options>(*parsed) : Options();
}

// Returns the errors about invalid arguments.
template <typename Options>
std::string ComplaintsIn(const Parsed<Options>& parsed) {
  EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(parsed.status().message());
}

}  // namespace retryq::cli

#endif  // RETRYQ_TEST_UNIT_CLI_FLAGS_PARSED_ARGUMENTS_H_
