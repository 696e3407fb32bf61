#ifndef RETRYQ_CLI_PLOT_NUMBER_TEXT_H_
#define RETRYQ_CLI_PLOT_NUMBER_TEXT_H_

#include <string>

namespace retryq::cli {

// Formats a number, which must not be negative, in at most six characters: "0.25", "9999", "12.3k",
// "1.2M".
std::string NumberText(double number);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PLOT_NUMBER_TEXT_H_
