#ifndef RETRYQ_CLI_PARKED_EDITOR_H_
#define RETRYQ_CLI_PARKED_EDITOR_H_

#include <string>

#include "absl/status/statusor.h"

namespace retryq::cli {

// A temporary file for editing a text, which only this user can access. The destructor removes it,
// unless it is kept.
class EditedFile {
 public:
  EditedFile() = default;
  EditedFile(const EditedFile&) = delete;
  EditedFile& operator=(const EditedFile&) = delete;
  ~EditedFile();

  // Writes the text to a new file in $TMPDIR, runs the editor on it and returns the edited text.
  // $VISUAL, else $EDITOR, is a command line for /bin/sh. Returns kFailedPrecondition without an
  // editor or if the editor fails, which keeps a changed file; kUnavailable if the file cannot be
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
