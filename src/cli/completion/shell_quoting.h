#ifndef RETRYQ_CLI_COMPLETION_SHELL_QUOTING_H_
#define RETRYQ_CLI_COMPLETION_SHELL_QUOTING_H_

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace retryq::cli {

// Quotes a text in single quotes for sh, bash and zsh.
inline std::string Quoted(std::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(std::string(text), {{"'", "'\\''"}}), "'");
}

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_COMPLETION_SHELL_QUOTING_H_
