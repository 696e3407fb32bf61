#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/parked/parked_actions.h"
#include "cli/parked/parked_pass.h"
#include "cli/parked/parked_question.h"

namespace retryq::cli {
namespace {

class Dropping final : public ParkedPass {
 public:
  explicit Dropping(const ParkedOptions& options) : ParkedPass(options, options.window) {}

 private:
  void OnMatch(amqp::MessagePtr message) override { reader().Take(message); }
};

}  // namespace

MessagesResult DropParked(const ParkedOptions& options) {
  const ParkedAgreement agreement = AskAboutParked(options, "Drop", "dropped", " for good");
  if (!agreement.options) return agreement.result;
  Dropping dropping(*agreement.options);
  absl::Status status = dropping.WithUnseen(dropping.Run());
  if (!dropping.began()) return {.status = std::move(status)};
  if (status.ok() && dropping.foreign() > 0) {
    status = absl::UnavailableError(dropping.WhyForeignStay());
  }
  return {.text = absl::StrCat("dropped ", dropping.matched(), " of ", dropping.total(),
                               " messages in ", options.queue, "\n"),
          .status = std::move(status)};
}

}  // namespace retryq::cli
