#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/parked/editor.h"
#include "cli/parked/parked_actions.h"
#include "cli/parked/replacement.h"

namespace retryq::cli {

MessagesResult EditParked(const ParkedOptions& options) {
  absl::StatusOr<amqp::MessagePtr> message = FindParked(options);
  if (!message.ok()) return {.status = message.status()};
  const absl::StatusOr<std::string> before = EditText(**message);
  if (!before.ok()) return {.status = before.status()};
  EditedFile file;
  const absl::StatusOr<std::string> after = file.Edit(*before);
  if (!after.ok()) return {.status = after.status()};
  if (*after == *before) return {.text = "the file was not changed: nothing was replayed\n"};

  const auto kept = [&file](const absl::Status& status) {
    file.Keep();
    return absl::Status(status.code(), absl::StrCat(std::string(status.message()),
                                                    "\nwhat was edited is in ", file.path()));
  };
  const auto replacement = ReadEdited(*std::move(message), *after);
  if (!replacement.ok()) {
    return {.status = kept(absl::InvalidArgumentError(
                absl::StrCat(replacement.status().message(), ": nothing was replayed")))};
  }
  MessagesResult result = ReplaceParked(options, *replacement);
  if (!result.status.ok()) result.status = kept(result.status);
  return result;
}

}  // namespace retryq::cli
