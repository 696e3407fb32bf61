// Benchmarks on a real broker; see run.
//
//   bench [REPETITIONS [FILTER]]      by default three of each case; FILTER is part of a case's
//   name

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "bench/bench.h"

namespace {

constexpr int kUsage = 64;

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Prints the case's median, least and most.
void Run(const retryq::bench::Case& one, int repetitions) {
  std::vector<double> values;
  for (int i = 0; i < repetitions; ++i) values.push_back(one.measure());
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  std::cout << absl::StrFormat("%-32s %10.0f %-12s (%.0f to %.0f)\n", one.name, Median(values),
                               one.unit, *least, *most)
            << std::flush;
}

}  // namespace

int main(int argc, char** argv) {
  const int repetitions = argc > 1 ? std::atoi(argv[1]) : 3;
  const std::string filter = argc > 2 ? argv[2] : "";
  if (repetitions < 1 || argc > 3) {
    std::cerr << "usage: bench [REPETITIONS [FILTER]]\n";
    return kUsage;
  }
  try {
    for (const retryq::bench::Case& one : retryq::bench::SharedDelayQueues()) {
      if (one.name.find(filter) != std::string::npos) Run(one, repetitions);
    }
  } catch (const std::exception& error) {
    std::cerr << "bench: " << error.what() << '\n';
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
