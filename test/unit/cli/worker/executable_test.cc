#include "cli/worker/executable.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "support/temporary_directory.h"

namespace retryq::cli {
namespace executable_test {

using ::retryq::testing::TemporaryDirectory;

TEST(CheckExecutable, LooksInPath) {
  EXPECT_TRUE(CheckExecutable("sh").ok());
  const absl::Status missing = CheckExecutable("retryq-no-such-program");
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(missing.message(),
            "there is no program 'retryq-no-such-program' in PATH: install it, or give its path");
}

TEST(CheckExecutable, TakesASlashForAPath) {
  const TemporaryDirectory directory;
  EXPECT_TRUE(CheckExecutable(directory.Write("program", "#!/bin/sh", /*executable=*/true)).ok());
  EXPECT_EQ(CheckExecutable(directory.File("missing")).code(), absl::StatusCode::kNotFound);
}

TEST(CheckExecutable, RefusesWhatCannotBeRun) {
  const TemporaryDirectory directory;
  const absl::Status plain = CheckExecutable(directory.Write("plain", "text"));
  EXPECT_EQ(plain.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_NE(plain.message().find("chmod +x"), absl::string_view::npos) << plain;
  EXPECT_FALSE(CheckExecutable("/tmp").ok());
  EXPECT_FALSE(CheckExecutable("").ok());
}

}  // namespace executable_test
}  // namespace retryq::cli
