#ifndef RETRYQ_CLI_MESSAGES_QUESTION_H_
#define RETRYQ_CLI_MESSAGES_QUESTION_H_

#include <string>

namespace retryq::cli {

// Asks on the terminal, and waits for the answer. Only "y", "Y" and "yes" agree.
bool Agrees(const std::string& question);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MESSAGES_QUESTION_H_
