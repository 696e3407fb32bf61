#ifndef RETRYQ_CLI_DOCTOR_REMEDY_TEXT_H_
#define RETRYQ_CLI_DOCTOR_REMEDY_TEXT_H_

#include <string>

namespace retryq::cli {

// Parts of commands that users paste into a shell.

// Returns a regular expression for exactly this text. A dot becomes [.] and not \., so that it can
// also be copied out of JSON, which doubles each backslash.
std::string Escaped(const std::string& text);

// Quotes a text as one word for the shell. Control characters are written as in bash: $'\x1B'.
std::string ForShell(const std::string& text);

// Quotes the first operand of a command: with "-- " before it if it looks like an option. Options
// must come before it.
std::string OperandForShell(const std::string& text);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_DOCTOR_REMEDY_TEXT_H_
