#ifndef RETRYQ_TEST_BENCH_PROGRAM_H_
#define RETRYQ_TEST_BENCH_PROGRAM_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace retryq::bench {

// Runs a program that is measured to its end, and answers the line of JSON that it printed. Throws
// std::runtime_error where it fails or takes longer than five minutes, and what CheckInterrupted
// throws; then it is ended.
nlohmann::json RunProgram(const std::string& path, std::vector<std::string> arguments);

// The same of several at once: one line of each.
std::vector<nlohmann::json> RunPrograms(const std::string& path,
                                        const std::vector<std::vector<std::string>>& arguments);

// From now on SIGINT and SIGTERM end the run at the next CheckInterrupted, so that what was made on
// the broker is taken away.
void NoteInterrupts();

// Throws Interrupted where such a signal came.
struct Interrupted {};
void CheckInterrupted();

}  // namespace retryq::bench

#endif  // RETRYQ_TEST_BENCH_PROGRAM_H_
