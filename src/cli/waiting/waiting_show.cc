#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/messages/message_past.h"
#include "cli/messages/message_text.h"
#include "cli/text/json_line.h"
#include "cli/waiting/waiting_actions.h"
#include "cli/waiting/waiting_pass.h"
#include "cli/waiting/waiting_row.h"

namespace retryq::cli {
namespace {

class ShowingWaiting final : public WaitingPass {
 public:
  using WaitingPass::WaitingPass;

  const amqp::MessagePtr& message() const { return message_; }

 private:
  void OnMatch(amqp::MessagePtr message) override {
    message_ = message;
    reader().Keep(message);
  }

  amqp::MessagePtr message_;
};

MessagesResult ShownMessage(const amqp::Message& message, const WaitingQueue& queue,
                            const WaitingOptions& options) {
  if (options.json) return {.text = MessageJson(message, WaitingJsonRow(message, queue, {}))};
  const MessagePast past(message);
  MoreLines more;
  if (past.due) more.emplace_back("due", JsonTime(*past.due));
  more.emplace_back("waits in", queue.name);
  absl::StatusOr<std::string> text = MessageText(message, options.body, more);
  if (!text.ok()) return {.status = text.status()};
  return {.text = *std::move(text), .is_raw = options.body == BodyFormat::kRaw};
}

}  // namespace

MessagesResult ShowWaiting(const WaitingOptions& options, const WaitingPlace& place) {
  MessageChoice first = options.choice;
  first.limit = 1;
  WaitingSum sum{.options = options, .place = place};
  for (const WaitingQueue& queue : place.queues) {
    ShowingWaiting pass(options, queue, first);
    if (absl::Status status = pass.Run(); !status.ok()) return {.status = std::move(status)};
    WarnOfLimit(queue, pass.returns());
    if (pass.message() != nullptr) return ShownMessage(*pass.message(), queue, options);
    sum.Add(pass);
    sum.NoteUnseen(pass, queue);
  }
  return {.status = sum.StatusWith(absl::NotFoundError(
              absl::StrCat("none of the ", sum.waiting, " messages that wait for ",
                           options.work_queue, " is meant by these flags")))};
}

}  // namespace retryq::cli
