#include "cli/messages/question.h"

#include <unistd.h>

#include <iostream>

#include "cli/text/io.h"

namespace retryq::cli {

bool Agrees(const std::string& question) {
  WriteAll(STDERR_FILENO, question + " [y/N] ");
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

}  // namespace retryq::cli
