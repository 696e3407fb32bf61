#include "cli/waiting/waiting_pass.h"

#include <unistd.h>

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/messages/message_past.h"
#include "cli/text/outlet.h"

namespace retryq::cli {
namespace {

constexpr absl::Duration kLongestLook = absl::Seconds(10);

// The limits if all messages are taken in order: few are held at a time, so that none is held that
// could be due.
constexpr absl::Duration kLongestTaking = absl::Minutes(5);
constexpr double kTurnSeconds = 2;

// The largest window of a consumer.
constexpr std::uint16_t kAll = std::numeric_limits<std::uint16_t>::max();

}  // namespace

WaitingPass::WaitingPass(const WaitingOptions& options, const WaitingQueue& queue,
                         const MessageChoice& choice)
    : MessagePass(choice), options_(options), queue_(queue), choice_(choice) {}

// Returns whether every message is taken in the order in which it is shown, so that none is held
// for longer than its turn takes.
bool WaitingPass::TakesAllInOrder() const {
  const bool takes = options_.action != WaitingAction::kList &&
                     options_.action != WaitingAction::kShow && !options_.dry_run && !options_.ask;
  return takes && queue_.is_owned && choice_.filter.empty() && !choice_.limit;
}

absl::Status WaitingPass::Run() {
  MessageReader::Options reader{
      .connection = options_.place.connection,
      .queue = queue_.name,
      .window = queue_.is_quorum ? kAll : kReadingWindow,
      .place = queue_.is_quorum ? MessageReader::Place::kExact : MessageReader::Place::kAny,
      .longest = kLongestLook,
      .figures = queue_.figures};
  reader.connection.connection_name = "retryq waiting";
  if (TakesAllInOrder()) {
    reader.window = options_.window;
    if (options_.rate > 0) {
      const double turn = std::max(1.0, options_.rate * kTurnSeconds);
      reader.window = static_cast<std::uint16_t>(std::min<double>(options_.window, turn));
    }
    reader.longest = kLongestTaking;
  }
  absl::Status status = MessagePass::Run(std::move(reader));
  return absl::IsNotFound(status) && !began() ? absl::OkStatus() : status;
}

bool WaitingPass::IsCandidate(const amqp::Message& message) {
  if (queue_.delivery_limit) {
    returns_ = std::max(returns_, MessagePast(message).returns + 1);
  }
  if (!WaitsFor(message, queue_, options_.work_queue)) return false;
  ++waiting_;
  return true;
}

void WaitingSum::Add(const WaitingPass& pass) {
  waiting += pass.waiting();
  matched += pass.matched();
  if (pass.waiting() > 0) ++queues;
}

void WaitingSum::NoteUnseen(const WaitingPass& pass, const WaitingQueue& queue) {
  if (pass.others_hold()) {
    const absl::Status held = HeldByOthers(options.place.management, options.place.connection.vhost,
                                           queue.name, pass.other_consumers());
    if (!held.ok()) problems.emplace_back(held.message());
  }
  if (!pass.cut_short()) return;
  problems.push_back(absl::StrCat(
      "not all of the ", pass.total(), " messages in ", queue.name,
      " were looked at, so that what comes due is not held up; remedy: run it again later, when "
      "fewer wait"));
}

absl::Status WaitingSum::StatusWith(const absl::Status& status) const {
  if ((status.ok() || absl::IsNotFound(status)) && finds_nothing()) {
    return NoWorkQueue(options);
  }
  if (problems.empty()) return status;
  const std::string text = absl::StrJoin(problems, "\n");
  if (status.ok()) return absl::UnavailableError(text);
  return absl::Status(status.code(), absl::StrCat(std::string(status.message()), "\n", text));
}

void WarnOfLimit(const WaitingQueue& queue, std::int64_t returns) {
  if (!queue.delivery_limit || returns * 2 < *queue.delivery_limit) return;
  WriteErrors(absl::StrCat("retryq waiting: messages in ", queue.name, " have been looked at ",
                           returns, " times, and go to the work queue early once that exceeds ",
                           *queue.delivery_limit,
                           " (delivery limit); RabbitMQ before 4.3 counts each look\n"));
}

}  // namespace retryq::cli
