#ifndef RETRYQ_CLI_PARKED_PARKED_QUESTION_H_
#define RETRYQ_CLI_PARKED_PARKED_QUESTION_H_

#include <optional>
#include <string>

#include "cli/parked/parked_command.h"
#include "cli/parked/parked_pass.h"

namespace retryq::cli {

// The options to continue with, limited to the number of messages that the user agreed to; or the
// result if the command ends here.
struct ParkedAgreement {
  std::optional<ParkedOptions> options;
  MessagesResult result;
};

// If the options require it, counts the matching messages and asks on the terminal. `verb` is the
// operation ("Drop") and `done` its past participle ("dropped"). `end` is the end of the question
// (" for good").
ParkedAgreement AskAboutParked(const ParkedOptions& options, const std::string& verb,
                               const std::string& done, const std::string& end);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PARKED_PARKED_QUESTION_H_
