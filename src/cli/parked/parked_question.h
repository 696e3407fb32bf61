#ifndef RETRYQ_CLI_PARKED_PARKED_QUESTION_H_
#define RETRYQ_CLI_PARKED_PARKED_QUESTION_H_

#include <optional>
#include <string>

#include "cli/parked/parked_command.h"
#include "cli/parked/parked_pass.h"

namespace retryq::cli {

// The options to go on with, which mean no more messages than were agreed to; or what there is to
// tell if there is nothing to go on with.
struct ParkedAgreement {
  std::optional<ParkedOptions> options;
  MessagesResult result;
};

// Where the options say so: counts what is meant, and asks on the terminal. `verb` is what is done
// to them ("Drop"), `done` that in the past ("dropped"), `end` how the question ends (" for good").
ParkedAgreement AskAboutParked(const ParkedOptions& options, const std::string& verb,
                               const std::string& done, const std::string& end);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PARKED_PARKED_QUESTION_H_
