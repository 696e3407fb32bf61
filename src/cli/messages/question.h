#ifndef RETRYQ_CLI_MESSAGES_QUESTION_H_
#define RETRYQ_CLI_MESSAGES_QUESTION_H_

#include <string>

namespace retryq::cli {

// Asks on the terminal and waits for the reply. Returns true for "y", "Y" and "yes" only.
bool Agrees(const std::string& question);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MESSAGES_QUESTION_H_
