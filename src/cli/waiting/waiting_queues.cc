#include "cli/waiting/waiting_queues.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/connect/broker_session.h"
#include "cli/doctor/throw_away_queue.h"
#include "cli/management/json_fields.h"
#include "cli/management/management_api.h"
#include "cli/messages/delivery_limit.h"
#include "cli/messages/message_past.h"
#include "cli/text/waiting.h"
#include "loop/escaped_text.h"
#include "retryq/delay_queue_name.h"
#include "retryq/event_loop.h"

namespace retryq::cli {
namespace {

using WaitingJson = nlohmann::json;

constexpr std::int64_t kUnlimited = -1;

// "4.0.5"
bool IsVersion4(const std::string& version) { return std::atoi(version.c_str()) >= 4; }

absl::Status WithRights(const absl::Status& refusal, const std::string& right) {
  if (!absl::IsPermissionDenied(refusal)) return refusal;
  return absl::PermissionDeniedError(
      absl::StrCat(std::string(refusal.message()), "; remedy: give the user the right to ", right));
}

// Returns an existing queue as the management API shows it.
absl::StatusOr<std::optional<WaitingJson>> FindQueue(ManagementApi& api, const std::string& vhost,
                                                     const std::string& name) {
  auto answer = api.Get(absl::StrCat("/queues/", PercentEncode(vhost), "/", PercentEncode(name)));
  if (absl::IsNotFound(answer.status())) return std::nullopt;
  if (!answer.ok()) return answer.status();
  return std::move(answer->json);
}

// Returns why the queue would not keep parked messages; empty if it does.
std::string WhyUnfitToPark(const WaitingJson& queue) {
  if (TextOf(queue, "type") == "stream")
    return "is a stream, which messages cannot be replayed from";
  if (!BoolOf(queue, "durable").value_or(true)) return "is not durable: a restart deletes it";
  if (BoolOf(queue, "auto_delete").value_or(false)) {
    return "is auto-delete: it goes with a consumer";
  }
  if (BoolOf(queue, "exclusive").value_or(false)) return "is exclusive to another connection";
  return "";
}

// Declares it as a worker does: of the type of the delay queues, without a delivery limit.
absl::Status DeclareParked(BrokerSession& session, const std::string& name, bool quorum) {
  amqp::Table arguments = {{"x-queue-type", quorum ? "quorum" : "classic"}};
  if (quorum && IsVersion4(session.server_version())) {
    arguments.Set("x-delivery-limit", kUnlimited);
  }
  const auto declared = session.DeclareQueue({.name = name, .arguments = std::move(arguments)});
  return WithRights(declared.status(), absl::StrCat("configure '", name, "', or declare it"));
}

absl::Status EnsureParked(ManagementApi& api, BrokerSession& session, const WaitingOptions& options,
                          bool quorum) {
  const std::string& name = options.parked_queue;
  const auto parked = FindQueue(api, options.place.connection.vhost, name);
  if (!parked.ok()) return parked.status();
  if (!parked->has_value()) return DeclareParked(session, name, quorum);
  const std::string unfit = WhyUnfitToPark(**parked);
  if (unfit.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the parked queue '", Printable(name), "' ", unfit,
                   "; remedy: delete it, or name another one by --parked"));
}

}  // namespace

std::optional<WaitingQueue> ReadWaitingQueue(const WaitingJson& queue, std::string_view prefix,
                                             std::string_view work_queue,
                                             std::int64_t default_limit) {
  const std::optional<std::string> name = TextOf(queue, "name");
  const auto parts = name ? ParseDelayQueueName(*name, prefix) : std::nullopt;
  if (!parts || !parts->exchange.empty() || IsThrowAway(*parts)) return std::nullopt;
  const std::string& owner = parts->work_queue;
  const bool is_hashed = owner.starts_with('#');  // a long name is hashed: the messages name it
  if (!owner.empty() && !is_hashed && owner != work_queue) return std::nullopt;
  const WaitingJson& arguments = FieldOf(queue, "arguments");
  WaitingQueue found{
      .name = *name,
      .ttl = parts->ttl,
      .is_quorum = TextOf(queue, "type") == "quorum",
      .is_owned = !owner.empty(),
      .dead_letter_exchange = TextOf(arguments, "x-dead-letter-exchange").value_or(""),
      .figures = FiguresOf(queue)};
  if (found.is_quorum) {
    found.delivery_limit = DeliveryLimitOf(queue, default_limit).value_or(default_limit);
    if (*found.delivery_limit < 0) found.delivery_limit.reset();
  }
  return found;
}

bool WaitsFor(const amqp::Message& message, const WaitingQueue& queue,
              std::string_view work_queue) {
  const std::optional<std::string_view> failed_in = MessagePast(message).queue;
  const bool has_failed_there = failed_in == work_queue;
  if (!queue.dead_letter_exchange.empty()) return has_failed_there;
  return message.routing_key == work_queue && (has_failed_there || !failed_in);
}

absl::StatusOr<WaitingPlace> FindWaiting(const WaitingOptions& options) {
  EventLoop loop;
  ManagementApi api(loop, options.place.management);
  const std::string& vhost = options.place.connection.vhost;
  const auto work_queue = FindQueue(api, vhost, options.work_queue);
  if (!work_queue.ok()) return work_queue.status();
  WaitingPlace place{.has_work_queue = work_queue->has_value()};
  if (options.action == WaitingAction::kRelease && !place.has_work_queue) {
    return NoWorkQueue(options);
  }
  amqp::ConnectionOptions connection = options.place.connection;
  connection.connection_name = "retryq waiting";
  BrokerSession session(loop, std::move(connection));
  if (absl::Status opened = session.Open(); !opened.ok()) {
    if (!absl::IsUnavailable(opened)) return opened;
    return absl::UnavailableError(absl::StrCat(std::string(opened.message()), "; remedy: ",
                                               UnreachableRemedy(std::string(opened.message()))));
  }

  const std::int64_t limit =
      IsVersion4(session.server_version()) ? kDefaultDeliveryLimit : kUnlimited;
  std::vector<WaitingQueue> queues;
  const absl::Status visited = VisitQueues(
      api, vhost, options.prefix + ".", [&](const WaitingJson& json, absl::Time /*at*/) {
        auto queue = ReadWaitingQueue(json, options.prefix, options.work_queue, limit);
        if (queue) queues.push_back(*std::move(queue));
      });
  if (!visited.ok()) return visited;
  std::sort(queues.begin(), queues.end(), [](const WaitingQueue& a, const WaitingQueue& b) {
    return std::tie(a.ttl, a.name) < std::tie(b.ttl, b.name);
  });
  if (options.action == WaitingAction::kPark) {
    const bool quorum = std::any_of(queues.begin(), queues.end(),
                                    [](const WaitingQueue& queue) { return queue.is_quorum; });
    const absl::Status parked =
        queues.empty() ? absl::OkStatus() : EnsureParked(api, session, options, quorum);
    if (!parked.ok()) return parked;
  }
  for (WaitingQueue& queue : queues) {
    const auto there = session.DeclareQueue({.name = queue.name, .passive = true});
    if (absl::IsNotFound(there.status())) continue;  // it has expired meanwhile
    if (!there.ok()) {
      return WithRights(there.status(), "read the delay queues: ^" + options.prefix + "\\.");
    }
    const bool is_held = there->consumer_count > 0 || (queue.figures && queue.figures->unacked > 0);
    if (there->message_count > 0 || is_held) place.queues.push_back(std::move(queue));
  }
  return place;
}

absl::Status NoWorkQueue(const WaitingOptions& options) {
  return absl::NotFoundError(
      absl::StrCat("there is no queue '", EscapedText(options.work_queue), "' in vhost '",
                   EscapedText(options.place.connection.vhost),
                   "': correct --queue or the end of --url, or declare it (retryq declare)"));
}

}  // namespace retryq::cli
