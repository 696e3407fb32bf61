#include "cli/messages/question.h"

#include <unistd.h>

#include <iostream>

#include "cli/text/outlet.h"
#include "loop/escaped_text.h"

namespace retryq::cli {

bool Agrees(const std::string& question) {
  WriteToStderr(EscapedText(question) + " [y/N] ");
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

}  // namespace retryq::cli
