#ifndef RETRYQ_CLI_MESSAGES_EDITING_H_
#define RETRYQ_CLI_MESSAGES_EDITING_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "retryq/amqp/message.h"

namespace retryq::cli {

// The replacement of one message in a replay.
struct Replacement {
  std::string body;
  std::optional<std::string> headers;  // encoded; not set: unchanged
  amqp::MessagePtr original;           // must be unchanged; null: not checked
};

// Returns whether two messages have the same body and headers. Ignores the counts of the broker.
bool IsSame(const amqp::Message& a, const amqp::Message& b);

// Returns the message with the body and headers of the replacement. The rest, including the
// delivery tag, is unchanged.
amqp::MessagePtr Replaced(const amqp::MessagePtr& message, const Replacement& replacement);

// Returns a message as a text to edit: its visible headers as JSON, a separator line and its body.
// Returns kInvalidArgument, with the remedy, if the body is not text.
absl::StatusOr<std::string> EditText(const amqp::Message& message);

// Parses the edited text. Headers whose JSON is unchanged keep their bytes; the JSON value of a new
// header determines its type. x-retry-* headers and those of the broker are kept. Returns
// kInvalidArgument for a text of another format and for headers that AMQP cannot carry.
absl::StatusOr<Replacement> ReadEdited(amqp::MessagePtr original, std::string_view text);

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

#endif  // RETRYQ_CLI_MESSAGES_EDITING_H_
