#include "cli/command.h"

int main(int argc, char** argv) {
  return retryq::cli::RunCommand(retryq::cli::Arguments(argv + (argc > 0 ? 1 : 0), argv + argc));
}
