#ifndef RETRYQ_CLI_DOCTOR_REMEDY_TEXT_H_
#define RETRYQ_CLI_DOCTOR_REMEDY_TEXT_H_

#include <string>

namespace retryq::cli {

// Parts of commands that are shown to be pasted into a shell.

// A regular expression for exactly this text. A dot becomes [.], not \., so that it also survives
// being copied out of JSON, where each backslash is doubled.
std::string Escaped(const std::string& text);

// One word for the shell. What a terminal would act on is written as bash does, as in $'\x1B'.
std::string ForShell(const std::string& text);

// The same as the first argument of a command that is no option: with "-- " before it where it
// looks like one. Options go before it.
std::string OperandForShell(const std::string& text);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_DOCTOR_REMEDY_TEXT_H_
