#ifndef RETRYQ_TEST_BENCH_PROGRAM_H_
#define RETRYQ_TEST_BENCH_PROGRAM_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace retryq::bench {

// Runs a program until it exits, and returns the line of JSON that it printed. Throws
// std::runtime_error if it fails or takes longer than five minutes, and what CheckInterrupted
// throws; the program is then killed.
nlohmann::json RunProgram(const std::string& path, std::vector<std::string> arguments);

// Runs a program several times at once, with these arguments, and returns a line for each.
std::vector<nlohmann::json> RunPrograms(const std::string& path,
                                        const std::vector<std::vector<std::string>>& arguments);

// From now on SIGINT and SIGTERM end the run at the next CheckInterrupted, so that the run can
// delete what it made on the broker.
void NoteInterrupts();

// Throws Interrupted after such a signal.
struct Interrupted {};
void CheckInterrupted();

}  // namespace retryq::bench

#endif  // RETRYQ_TEST_BENCH_PROGRAM_H_
