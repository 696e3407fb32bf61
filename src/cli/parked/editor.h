#ifndef RETRYQ_CLI_PARKED_EDITOR_H_
#define RETRYQ_CLI_PARKED_EDITOR_H_

#include <string>

#include "absl/status/statusor.h"

namespace retryq::cli {

// A file of this user's alone that holds a text while it is edited. Removed with its owner, unless
// it is kept.
class EditedFile {
 public:
  EditedFile() = default;
  EditedFile(const EditedFile&) = delete;
  EditedFile& operator=(const EditedFile&) = delete;
  ~EditedFile();

  // Writes the text to a new file in $TMPDIR, runs the editor on it, and returns what is in it
  // then. $VISUAL, else $EDITOR, is a line for /bin/sh. kFailedPrecondition without an editor, or
  // where it fails, which keeps what was changed by then; kUnavailable where the file cannot be
  // written or read.
  absl::StatusOr<std::string> Edit(const std::string& text);

  const std::string& path() const { return path_; }
  void Keep() { keep_ = true; }

 private:
  std::string path_;
  bool keep_ = false;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PARKED_EDITOR_H_
