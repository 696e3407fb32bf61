#include "cli/parked/parked_show.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/parked/message_text.h"

namespace retryq::cli {
namespace {

class Showing final : public ParkedPass {
 public:
  explicit Showing(const ParkedOptions& options) : ParkedPass(options, ReadingWindow(options)) {}

  const amqp::MessagePtr& message() const { return message_; }

 private:
  void OnMatch(amqp::MessagePtr message) override {
    message_ = message;
    reader().Keep(message);
  }

  amqp::MessagePtr message_;
};

}  // namespace

ParkedResult ShowParked(const ParkedOptions& options) {
  ParkedOptions first = options;
  first.limit = 1;
  Showing showing(first);
  if (absl::Status status = showing.Run(); !status.ok()) return {.status = std::move(status)};
  if (showing.message() == nullptr) {
    return {.status =
                absl::NotFoundError(absl::StrCat("none of the ", showing.total(), " messages in ",
                                                 options.queue, " is meant by these flags"))};
  }
  if (options.json) return {.text = MessageJson(*showing.message())};
  absl::StatusOr<std::string> text = MessageText(*showing.message(), options.body);
  if (!text.ok()) return {.status = text.status()};
  return {.text = *std::move(text)};
}

}  // namespace retryq::cli
