#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "base/escaped_text.h"
#include "base/quoting.h"
#include "base/utf8.h"
#include "cli/messages/actions.h"
#include "cli/messages/message_text.h"
#include "cli/text/io.h"
#include "cli/text/json_line.h"
#include "retryq/amqp/table.h"
#include "retryq/delivery.h"

namespace retryq::cli {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kSeparator = "--- body ---\n";

// Sorted header fields that do not change between deliveries. The broker reorders the fields when
// it adds its count.
std::vector<std::string_view> KeptFields(const amqp::Message& message) {
  std::vector<std::string_view> fields;
  for (const amqp::FieldView& field : message.properties.headers.value_or(amqp::TableView())) {
    if (field.name != "x-delivery-count" && field.name != "x-acquired-count") {
      fields.push_back(field.bytes);
    }
  }
  std::sort(fields.begin(), fields.end());
  return fields;
}

absl::StatusOr<std::string> EditedHeaders(const amqp::Message& original, const Json& edited) {
  const Json before = ParseJson(VisibleHeaders(original));
  std::string bytes;
  amqp::TableWriter writer(&bytes);
  const Headers headers(original.properties.headers.value_or(amqp::TableView()));
  for (const amqp::FieldView& field : original.properties.headers.value_or(amqp::TableView())) {
    const std::string name(field.name);
    // A name with invalid UTF-8 is shown differently and cannot be edited.
    const bool stays =
        headers.IsHidden(field.name) || before == edited || !IsUtf8(name) ||
        (before.contains(name) && edited.contains(name) && before.at(name) == edited.at(name));
    if (stays) writer.Copy(field);
  }
  if (before == edited) return bytes;
  amqp::Table changed;
  for (const auto& [name, value] : edited.items()) {
    if (before.contains(name) && before.at(name) == value) continue;
    if (headers.IsHidden(name)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "header '", EscapedText(name), "': retryq or the broker sets it; remedy: remove it"));
    }
    absl::StatusOr<amqp::Value> typed = TypedValue(value);
    if (!typed.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("header '", EscapedText(name), "': ", typed.status().message()));
    }
    changed.Append(name, *std::move(typed));
  }
  const absl::StatusOr<std::string> encoded = changed.Encode();
  if (!encoded.ok()) return encoded.status();
  return bytes + *encoded;
}

// The value of the first variable that is set; empty if none is.
std::string EditorLine() {
  for (const char* const name : {"VISUAL", "EDITOR"}) {
    const char* const value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return "";
}

// Runs the editor by /bin/sh, without the URLs, which contain passwords. Meanwhile only the editor
// receives SIGINT and SIGQUIT. Returns its wait status, or -1 with errno.
int RunOn(const std::string& editor, const std::string& path) {
  const std::string command =
      absl::StrCat("unset RETRYQ_URL RETRYQ_MANAGEMENT_URL; ", editor, " ", ShellQuoted(path));
  for (const int number : {SIGPIPE, SIGXFSZ}) std::signal(number, SIG_DFL);  // the editor's
  const int status = std::system(command.c_str());
  for (const int number : {SIGPIPE, SIGXFSZ}) std::signal(number, SIG_IGN);
  return status;
}

absl::Status FileError(const std::string& path) {
  return absl::UnavailableError(
      absl::StrCat("the file to edit, ", path, ": ", std::strerror(errno), "; see TMPDIR"));
}

// Opens the file again, because an editor may have replaced it. A FIFO without a writer is empty.
absl::StatusOr<std::string> ReadFile(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) return FileError(path);
  return ReadAll(file.get());
}

// A temporary file for editing a text, which only this user can access. The destructor removes it,
// unless it is kept.
class EditedFile {
 public:
  EditedFile() = default;
  EditedFile(const EditedFile&) = delete;
  EditedFile& operator=(const EditedFile&) = delete;
  ~EditedFile() {
    if (!path_.empty() && !keep_) ::unlink(path_.c_str());
  }

  // Writes the text to a new file in $TMPDIR, runs the editor on it and returns the edited text. If
  // the editor fails, a changed file is kept.
  absl::StatusOr<std::string> Edit(const std::string& text) {
    const std::string editor = EditorLine();
    if (editor.empty()) {
      return absl::FailedPreconditionError("there is no editor; remedy: set VISUAL or EDITOR");
    }
    const char* const directory = std::getenv("TMPDIR");
    std::string path = absl::StrCat(directory != nullptr && *directory != '\0' ? directory : "/tmp",
                                    "/retryq-edit-XXXXXX");
    {
      const FileDescriptor file(::mkostemp(path.data(), O_CLOEXEC));
      if (!file.is_open()) return FileError(path);
      path_ = path;
      if (!WriteAll(file.get(), text)) return FileError(path);
    }
    const int status = RunOn(editor, path_);
    if (status != 0) {
      std::string why = absl::StrCat(
          "the editor '", editor, "' failed",
          WIFEXITED(status) ? absl::StrCat(" with exit status ", WEXITSTATUS(status)) : "",
          ": nothing was replayed");
      // Keeps the edited text of an interrupted editor session.
      if (ReadFile(path_).value_or(text) != text) {
        Keep();
        absl::StrAppend(&why, "\nthe edited text is in ", path_);
      }
      return absl::FailedPreconditionError(why);
    }
    return ReadFile(path_);
  }

  const std::string& path() const { return path_; }
  void Keep() { keep_ = true; }

 private:
  std::string path_;
  bool keep_ = false;
};

}  // namespace

bool IsSame(const amqp::Message& a, const amqp::Message& b) {
  return a.body == b.body && KeptFields(a) == KeptFields(b);
}

amqp::MessagePtr Replaced(const amqp::MessagePtr& message, const Replacement& replacement) {
  struct Edited {
    amqp::MessagePtr original;  // the properties are views into it
    std::string headers;
    amqp::Message message;
  };
  const auto edited = std::make_shared<Edited>();
  edited->original = message;
  amqp::Message& copy = edited->message;
  copy.delivery_tag = message->delivery_tag;
  copy.redelivered = message->redelivered;
  copy.SetHead(message->exchange, message->routing_key, /*new_header=*/"");
  copy.content = replacement.body;
  copy.body = copy.content;
  copy.properties = message->properties;
  if (replacement.headers) {
    edited->headers = *replacement.headers;
    copy.properties.headers = amqp::TableView(edited->headers);
  }
  return {edited, &copy};
}

absl::StatusOr<std::string> EditText(const amqp::Message& message) {
  if (!IsUtf8(message.body)) {
    return absl::InvalidArgumentError(
        "the body is not text; remedy: save it by show --body raw, change the file, and use replay "
        "--id ID --body FILE");
  }
  return absl::StrCat(LayOutJson(VisibleHeaders(message)), "\n", std::string(kSeparator),
                      std::string(message.body));
}

absl::StatusOr<Replacement> ReadEdited(amqp::MessagePtr original, std::string_view text) {
  const std::string line = absl::StrCat("\n", std::string(kSeparator));
  std::size_t at = text.find(line);
  std::size_t body_at = at + line.size();
  // An editor may have removed the line break of the last line.
  if (at == std::string_view::npos && text.ends_with(line.substr(0, line.size() - 1))) {
    at = text.size() - (line.size() - 1);
    body_at = text.size();
  }
  if (at == std::string_view::npos) {
    return absl::InvalidArgumentError(
        "the line '--- body ---' between the headers and the body is missing; remedy: keep it");
  }
  const Json headers = ParseJson(text.substr(0, at));
  if (!headers.is_object()) {
    return absl::InvalidArgumentError(
        "the headers, above the line '--- body ---', are not a JSON object");
  }
  absl::StatusOr<std::string> bytes = EditedHeaders(*original, headers);
  if (!bytes.ok()) return bytes.status();
  Replacement replacement{.body = std::string(text.substr(body_at)),
                          .headers = *std::move(bytes),
                          .original = std::move(original)};
  // Editors add a line break to the last line.
  const std::string_view before = replacement.original->body;
  if (!before.ends_with('\n') && replacement.body.ends_with('\n')) replacement.body.pop_back();
  return replacement;
}

MessagesResult EditMessage(const MessagesOptions& options, const Scope& scope) {
  auto found = FindMessage(options, scope);
  if (!found.ok()) return {.text = "", .status = found.status()};
  const absl::StatusOr<std::string> before = EditText(*found->first);
  if (!before.ok()) return {.text = "", .status = before.status()};
  EditedFile file;
  const absl::StatusOr<std::string> after = file.Edit(*before);
  if (!after.ok()) return {.text = "", .status = after.status()};
  if (*after == *before) return {.text = "the file was not changed: nothing was replayed\n"};

  const auto kept = [&file](const absl::Status& status) {
    file.Keep();
    return absl::Status(status.code(), absl::StrCat(std::string(status.message()),
                                                    "\nthe edited text is in ", file.path()));
  };
  const auto replacement = ReadEdited(std::move(found->first), *after);
  if (!replacement.ok()) {
    return {.text = "",
            .status = kept(absl::InvalidArgumentError(
                absl::StrCat(replacement.status().message(), ": nothing was replayed")))};
  }
  MessagesResult result = Replay(options, scope, &*replacement);
  if (absl::IsNotFound(result.status)) {
    result.status =
        absl::NotFoundError(absl::StrCat("the message is not in ", options.parked_queue,
                                         " any more, or it was changed: nothing was replayed"));
  }
  if (!result.status.ok()) result.status = kept(result.status);
  return result;
}

}  // namespace retryq::cli
