#include "cli/parked/parked_pass.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/connect/broker_session.h"
#include "cli/messages/delivery_limit.h"
#include "cli/messages/message_past.h"

namespace retryq::cli {

ParkedPass::ParkedPass(const ParkedOptions& options, std::uint16_t window)
    : MessagePass(options.choice),
      options_(options),
      window_(window),
      ours_only_(!options.foreign && options.action != ParkedAction::kList &&
                 options.action != ParkedAction::kShow) {}

absl::Status ParkedPass::Run() {
  const auto before = AskBeforeLooking(options_.management, options_.connection, options_.queue);
  if (!before.ok()) return before.status();
  MessageReader::Options reader{
      .connection = WithPatience(options_.connection, absl::Seconds(6)),
      .queue = options_.queue,
      .window = window_,
      .move_at = before->move_at,
      .figures = before->figures,
      .if_missing =
          ": --queue is the work queue, whose messages are parked in QUEUE.parked "
          "unless --parked names another queue; its vhost is the one in the --url"};
  reader.connection.connection_name = "retryq parked";
  return MessagePass::Run(std::move(reader));
}

absl::Status ParkedPass::WithUnseen(absl::Status status) const {
  if (!status.ok() || !others_hold()) return status;
  return HeldByOthers(options_.management, options_.connection.vhost, options_.queue,
                      other_consumers());
}

bool ParkedPass::MayBeTaken(const amqp::Message& message) {
  if (!ours_only_ || MessagePast(message).is_parked()) return true;
  ++foreign_;
  return false;
}

std::string ParkedPass::WhyForeignStay() const {
  return absl::StrCat(foreign_, " stay in ", options_.queue,
                      ": retryq did not park them (they have no x-retry-parked); remedy: look at "
                      "them, and where they are meant, add --foreign");
}

}  // namespace retryq::cli
