#include "cli/parked/parked_question.h"

#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "cli/messages/question.h"

namespace retryq::cli {
namespace {

class Counting final : public ParkedPass {
 public:
  explicit Counting(const ParkedOptions& options)
      : ParkedPass(options, ReadingWindow(options.choice)) {}

 private:
  void OnMatch(amqp::MessagePtr message) override { reader().Keep(message); }
};

}  // namespace

ParkedAgreement AskAboutParked(const ParkedOptions& options, const std::string& verb,
                               const std::string& done, const std::string& end) {
  if (!options.ask) return {.options = options};
  Counting counting(options);
  if (absl::Status status = counting.Run(); !status.ok()) {
    return {.result = {.status = std::move(status)}};
  }
  const std::uint64_t count = counting.matched();
  if (count == 0) {
    return {.result = {
                .text = absl::StrCat("0 of ", counting.total(), " messages in ", options.queue,
                                     " are meant: nothing to ", absl::AsciiStrToLower(verb), "\n"),
                .status = counting.foreign() == 0
                              ? absl::OkStatus()
                              : absl::UnavailableError(counting.WhyForeignStay())}};
  }
  if (!Agrees(absl::StrCat(verb, " ", count, " of the ", counting.total(), " messages in ",
                           options.queue, end, "?"))) {
    return {.result = {.text = absl::StrCat("nothing was ", done, "\n")}};
  }
  // Excludes messages that were parked after the question.
  ParkedOptions agreed = options;
  agreed.choice.limit = count;
  return {.options = std::move(agreed)};
}

}  // namespace retryq::cli
