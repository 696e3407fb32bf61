// Benchmarks on a real broker, which compare retryq with a baseline; see README.md. test/bench/run
// builds and runs this program.

#include <exception>
#include <fstream>
#include <iostream>

#include "absl/strings/numbers.h"
#include "bench/line.h"
#include "bench/program.h"
#include "bench/result.h"
#include "support/standard.h"

namespace retryq::bench {
namespace {

// In the order of the report.
std::vector<Line> AllLines() {
  std::vector<Line> all;
  for (auto* lines : {ThroughputLines, LatenessLines, SharedDelayQueues}) {
    std::vector<Line> more = lines();
    std::move(more.begin(), more.end(), std::back_inserter(all));
  }
  return all;
}

constexpr int kUsage = 64;
constexpr int kInterruptedExit = 130;

struct Flags {
  Setup setup{.messages = 20'000, .programs = {}};
  int rounds = 5;
  std::vector<std::string> names;
  std::string markdown;
  bool list = false;
};

// Returns what is wrong with the arguments; empty if nothing is.
std::string Parse(const std::vector<std::string>& arguments, Flags* flags) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& flag = arguments[i];
    if (flag == "--list") {
      flags->list = true;
      continue;
    }
    if (!flag.starts_with("-")) {
      flags->names.push_back(flag);
      continue;
    }
    if (i + 1 == arguments.size()) return "'" + flag + "' is unknown or needs a value; see --help";
    const std::string& value = arguments[++i];
    if (flag == "--rounds") {
      if (!absl::SimpleAtoi(value, &flags->rounds) || flags->rounds < 1) {
        return "--rounds is a number from 1 on, not '" + value + "'";
      }
    } else if (flag == "--messages") {
      if (!absl::SimpleAtoi(value, &flags->setup.messages) || flags->setup.messages < 10'000) {
        return "--messages is a number from 10000 on, not '" + value + "'";
      }
    } else if (flag == "--markdown") {
      flags->markdown = value;
    } else {
      return "unknown argument '" + flag + "'; see --help";
    }
  }
  return "";
}

// "retry" also names "retry-256".
bool IsNamedBy(const Line& line, const std::string& name) {
  return line.name == name || line.name.starts_with(name + "-");
}

// Returns the named lines or, without names, all that are not extra. Throws std::invalid_argument
// for an unknown name.
std::vector<Line> Choose(const std::vector<std::string>& names) {
  const std::vector<Line> all = AllLines();
  for (const std::string& name : names) {
    if (std::none_of(all.begin(), all.end(),
                     [&](const Line& line) { return IsNamedBy(line, name); })) {
      throw std::invalid_argument("no line '" + name + "'; see --list");
    }
  }
  std::vector<Line> chosen;
  for (const Line& line : all) {
    const bool is_named = std::any_of(
        names.begin(), names.end(), [&](const std::string& name) { return IsNamedBy(line, name); });
    if (names.empty() ? !line.is_extra : is_named) chosen.push_back(line);
  }
  return chosen;
}

std::vector<double> MeasureSide(const Line& line, Side side, const Setup& setup) {
  std::cerr << ' ' << (side == Side::kRetryq ? line.subject : "baseline") << std::flush;
  std::vector<double> figures = line.measure(side, setup);
  if (figures.size() != line.metrics.size())
    throw std::logic_error(line.name + ": not one figure per metric");
  return figures;
}

LineResult Measure(const Line& line, const Flags& flags) {
  LineResult result{.line = line, .metrics = {}};
  for (const Metric& metric : line.metrics) result.metrics.push_back({.metric = metric});
  for (int round = 1; round <= flags.rounds; ++round) {
    CheckInterrupted();
    std::cerr << "test/bench: " << line.title << ", round " << round << " of " << flags.rounds
              << ':';
    std::vector<double> baseline;
    if (line.has_baseline()) baseline = MeasureSide(line, Side::kBaseline, flags.setup);
    const std::vector<double> retryq = MeasureSide(line, Side::kRetryq, flags.setup);
    std::cerr << '\n';
    for (std::size_t i = 0; i < result.metrics.size(); ++i) {
      result.metrics[i].retryq.push_back(retryq[i]);
      if (line.has_baseline()) result.metrics[i].baseline.push_back(baseline[i]);
    }
  }
  return result;
}

void WriteFile(const std::string& path, const std::string& content) {
  std::ofstream file(path);
  file << content << std::flush;
  if (!file) throw std::runtime_error("cannot write " + path);
}

void Run(const std::vector<Line>& lines, const Flags& flags) {
  Results results{.machine = ThisMachine(), .lines = {}};
  std::cout << Text(results.machine) << std::flush;
  for (const Line& line : lines) {
    results.lines.push_back(Measure(line, flags));
    std::cout << Text(results.lines.back()) << std::flush;
  }
  if (!flags.markdown.empty()) WriteFile(flags.markdown, Markdown(results));
}

int Main(std::string directory, const std::vector<std::string>& arguments) {
  Flags flags;
  std::string wrong = Parse(arguments, &flags);
  std::vector<Line> lines;
  try {
    if (wrong.empty()) lines = Choose(flags.names);
  } catch (const std::invalid_argument& error) {
    wrong = error.what();
  }
  if (!wrong.empty()) {
    std::cerr << "test/bench: " << wrong << '\n';
    return kUsage;
  }
  if (flags.list) {
    for (const Line& line : AllLines()) std::cout << line.name << "    " << line.title << '\n';
    return EXIT_SUCCESS;
  }
  flags.setup.programs = std::move(directory);
  NoteInterrupts();
  try {
    Run(lines, flags);
  } catch (const Interrupted&) {
    std::cerr << "\ntest/bench: interrupted\n";
    return kInterruptedExit;
  } catch (const std::exception& error) {
    std::cerr << "\ntest/bench: " << error.what() << '\n';
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace retryq::bench

int main(int argc, char** argv) {
  const std::string self = argv[0];
  return retryq::bench::Main(self.substr(0, self.rfind('/') + 1), {argv + 1, argv + argc});
}
