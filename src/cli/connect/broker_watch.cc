#include "cli/connect/broker_watch.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "cli/flags/shared_flags.h"
#include "cli/text/duration.h"
#include "retryq/amqp/connection_options.h"

namespace retryq::cli {
namespace {

// The beginning of RabbitMQ's error for a missing permission (403).
constexpr std::string_view kRefusedText = "ACCESS_REFUSED";

// Parses an error that a status printed: "NOT_FOUND: no such vhost".
absl::Status StatusFrom(std::string_view error) {
  const std::size_t end = error.find(": ");
  for (int code = 1; end != std::string_view::npos && code <= 16; ++code) {
    const auto candidate = static_cast<absl::StatusCode>(code);
    if (absl::StatusCodeToString(candidate) != error.substr(0, end)) continue;
    return absl::Status(candidate, std::string(error.substr(end + 2)));
  }
  return absl::UnknownError(std::string(error));
}

}  // namespace

void AddBrokerFlags(FlagParser& parser, ClientOptions* client, absl::Duration* wait,
                    absl::Duration* heartbeat) {
  AddUrlFlags(parser, "Connect to amqp://user:password@host:port/vhost. Repeatable", client,
              heartbeat);
  parser.Add("--wait", "DURATION", wait,
             "Wait this long for a broker that cannot be reached. Default: 1s500ms");
}

BrokerWatch::BrokerWatch(EventLoop& loop, const ClientOptions& client, absl::Duration wait,
                         std::string then, Refused refused)
    : loop_(loop),
      broker_(amqp::Describe(ConnectionOf(client))),
      then_(std::move(then)),
      refused_(std::move(refused)) {
  Begin("no answer yet");
  timer_ = loop.After(wait, [this] {
    const std::unique_ptr<Timer> fired = std::move(timer_);
    is_overdue_ = true;
    // The current attempt may still succeed, as it takes several round trips.
    if (!problem_.empty()) GiveUp();
  });
}

void BrokerWatch::Begin(std::string_view why) {
  if (!waiting_) waiting_.emplace(loop_, broker_);
  waiting_->Because(why);
}

void BrokerWatch::OnEvent(const Event& event) {
  switch (event.kind) {
    case EventKind::kConnected:
      has_connected_ = true;
      timer_.reset();
      [[fallthrough]];
    case EventKind::kUnblocked:
      then_.empty() ? waiting_.reset() : Begin(then_);
      return;
    case EventKind::kBlocked:
      return Begin(absl::StrCat("the broker has an alarm and accepts no messages: ",
                                std::string(event.error)));
    case EventKind::kDisconnected:
      return OnDisconnected(event.error);
    case EventKind::kDeclareFailed:
      if (event.error.find(kRefusedText) != std::string_view::npos) {
        const absl::Status why = absl::PermissionDeniedError(std::string(event.error));
        return refused_ == nullptr ? loop_.Fail(why) : refused_(why);
      }
      [[fallthrough]];
    default:
      if (!event.error.empty() && waiting_) {
        waiting_->Because(std::string(StatusFrom(event.error).message()));
      }
      return;
  }
}

void BrokerWatch::OnDisconnected(std::string_view error) {
  const absl::Status why = StatusFrom(error);
  problem_ = std::string(why.message());
  Begin(problem_);
  if (has_connected_) return;
  if (!absl::IsUnavailable(why)) return loop_.Fail(why);
  if (is_overdue_) GiveUp();
}

void BrokerWatch::GiveUp() {
  loop_.Fail(absl::UnavailableError(absl::StrCat(
      problem_, "; remedy: ", UnreachableRemedy(problem_), ", or wait for it with --wait 1m")));
}

}  // namespace retryq::cli
