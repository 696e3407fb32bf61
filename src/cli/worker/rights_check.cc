#include "cli/worker/rights_check.h"

#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/connect/orderly_end.h"
#include "cli/doctor/doctor_rules.h"
#include "cli/doctor/throw_away_queue.h"

namespace retryq::cli {
namespace {

constexpr absl::Duration kRightsPatience = absl::Seconds(2);

// The lifetime of the temporary queue if it cannot be deleted.
constexpr absl::Duration kProbeLease = absl::Seconds(5);

// A refusal closes the channel and is handled in OnChannelClosed.
constexpr auto kIgnored = [](const auto& /*answer*/) {};

amqp::ConnectionOptions NamedForRights(amqp::ConnectionOptions connection) {
  connection.connection_name = "retryq work: rights";
  return connection;
}

}  // namespace

RightsCheck::RightsCheck(EventLoop& loop, DoctorOptions worker,
                         std::function<void(absl::Status)> done)
    : worker_(std::move(worker)),
      probe_(ThrowAwayForRights(worker_.delay_queues, TargetOf(worker_), kProbeLease)),
      done_(std::move(done)),
      deadline_(loop.After(kRightsPatience, [this] { Finish(); })),
      connection_(loop, NamedForRights(worker_.place.connection), this) {}

// Sends all requests at once; the first refusal closes the channel.
void RightsCheck::OnOpen() {
  if (deadline_ == nullptr || channel_ != nullptr) return;
  channel_ = connection_.OpenChannel(this);
  channel_->ConfirmSelect(kIgnored);
  if (worker_.delay_queues.declare) TryToDeclare();
  const std::string nowhere = probe_.queue.name + ".nowhere";
  channel_->Publish({.exchange = "", .routing_key = nowhere}, [this](const PublishResult& result) {
    if (result.outcome != PublishOutcome::kUnknown) CleanUp();
  });
}

// The published message is deleted with the queue.
void RightsCheck::TryToDeclare() {
  const std::string& exchange = probe_.exchange->name;
  channel_->DeclareQueue(probe_.queue, kIgnored);
  channel_->DeclareExchange(*probe_.exchange, kIgnored);
  channel_->BindQueue(probe_.queue.name, exchange, probe_.binding_key, {}, kIgnored);
  channel_->Publish({.exchange = exchange, .routing_key = ""}, kIgnored);
}

// Uses a new channel, as the first one may be closed.
void RightsCheck::CleanUp() {
  if (!worker_.delay_queues.declare) return Finish();
  is_cleaning_up_ = true;
  channel_ = connection_.OpenChannel(this);
  channel_->DeleteQueue(probe_.queue.name, kIgnored);
  // The exchange is deleted with its queue, unless the binding failed.
  channel_->DeleteExchange(probe_.exchange->name,
                           [this](const absl::Status& /*gone*/) { Finish(); });
}

void RightsCheck::OnChannelClosed(const amqp::ChannelError& why) {
  if (is_cleaning_up_) return Finish();
  if (absl::IsPermissionDenied(why.status)) {
    refusal_ = absl::PermissionDeniedError(
        absl::StrCat("a right is missing that retrying needs: ", std::string(why.status.message()),
                     "; remedy: ", GrantCommand(worker_)));
  }
  CleanUp();
}

// The client reports a lost connection.
void RightsCheck::OnLost(const absl::Status& /*why*/) { Finish(); }

void RightsCheck::OnBlocked(bool blocked, std::string_view /*reason*/) {
  if (blocked) Finish();
}

void RightsCheck::Finish() {
  if (deadline_ == nullptr) return;
  deadline_.reset();
  connection_.Close(kGoodbye, [this] {
    const auto done = std::exchange(done_, nullptr);
    done(std::move(refusal_));
  });
}

}  // namespace retryq::cli
