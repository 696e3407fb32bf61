#include "cli/parked/parked_drop.h"

#include <unistd.h>

#include <iostream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/text/io.h"

namespace retryq::cli {
namespace {

class Counting final : public ParkedPass {
 public:
  explicit Counting(const ParkedOptions& options) : ParkedPass(options, ReadingWindow(options)) {}

 private:
  void OnMatch(amqp::MessagePtr message) override { reader().Keep(message); }
};

class Dropping final : public ParkedPass {
 public:
  explicit Dropping(const ParkedOptions& options) : ParkedPass(options, options.window) {}

 private:
  void OnMatch(amqp::MessagePtr message) override { reader().Take(message); }
};

bool Agrees(std::uint64_t count, std::uint64_t total, const std::string& queue) {
  WriteAll(STDERR_FILENO, absl::StrCat("Drop ", count, " of the ", total, " messages in ", queue,
                                       " for good? [y/N] "));
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

}  // namespace

ParkedResult DropParked(const ParkedOptions& options) {
  ParkedOptions agreed = options;
  if (!options.yes) {
    Counting counting(options);
    if (absl::Status status = counting.Run(); !status.ok()) return {.status = std::move(status)};
    if (counting.matched() == 0) {
      return {.text = absl::StrCat("0 of ", counting.total(), " messages in ", options.queue,
                                   " are meant: nothing to drop\n")};
    }
    if (!Agrees(counting.matched(), counting.total(), options.queue)) {
      return {.text = "nothing was dropped\n"};
    }
    // What has been parked meanwhile was not asked about.
    agreed.limit = counting.matched();
  }
  Dropping dropping(agreed);
  absl::Status status = dropping.Run();
  if (!dropping.began()) return {.status = std::move(status)};
  return {.text = absl::StrCat("dropped ", dropping.matched(), " of ", dropping.total(),
                               " messages in ", options.queue, "\n"),
          .status = std::move(status)};
}

}  // namespace retryq::cli
