#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/messages/message_row.h"
#include "cli/messages/message_text.h"
#include "cli/parked/parked_actions.h"
#include "cli/parked/parked_pass.h"

namespace retryq::cli {
namespace {

class Showing final : public ParkedPass {
 public:
  explicit Showing(const ParkedOptions& options)
      : ParkedPass(options, ReadingWindow(options.choice)) {}

  const amqp::MessagePtr& message() const { return message_; }

 private:
  void OnMatch(amqp::MessagePtr message) override {
    message_ = message;
    reader().Keep(message);
  }

  amqp::MessagePtr message_;
};

}  // namespace

absl::StatusOr<amqp::MessagePtr> FindParked(const ParkedOptions& options) {
  ParkedOptions first = options;
  first.choice.limit = 1;
  Showing showing(first);
  if (absl::Status status = showing.Run(); !status.ok()) return status;
  if (showing.message() != nullptr) return showing.message();
  if (showing.foreign() > 0) return absl::UnavailableError(showing.WhyForeignStay());
  if (absl::Status unseen = showing.WithUnseen(absl::OkStatus()); !unseen.ok()) return unseen;
  return absl::NotFoundError(absl::StrCat("none of the ", showing.total(), " messages in ",
                                          options.queue, " is meant by these flags"));
}

MessagesResult ShowParked(const ParkedOptions& options) {
  const absl::StatusOr<amqp::MessagePtr> message = FindParked(options);
  if (!message.ok()) return {.status = message.status()};
  if (options.json) return {.text = MessageJson(**message, MessageJsonRow(**message, {}))};
  absl::StatusOr<std::string> text = MessageText(**message, options.body);
  if (!text.ok()) return {.status = text.status()};
  return {.text = *std::move(text), .is_raw = options.body == BodyFormat::kRaw};
}

}  // namespace retryq::cli
