#include "cli/messages/queue_facts.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/broker_version.h"
#include "base/escaped_text.h"
#include "base/remedy.h"
#include "cli/connect/broker_session.h"
#include "cli/management/management_api.h"
#include "cli/messages/message_text.h"
#include "cli/messages/messages_command.h"
#include "cli/text/io.h"
#include "cli/text/json_line.h"
#include "retryq/broker/delay_queue_name.h"
#include "retryq/event_loop.h"

namespace retryq::cli {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kLowest = 2;  // the lowest limit that MoveAt can handle
constexpr absl::Duration kLongestReply = absl::Seconds(4);

// RabbitMQ reports the policy of a new queue after five seconds, or later if it is busy.
constexpr absl::Duration kUntilStatistics = absl::Seconds(30);
constexpr absl::Duration kAskAgain = absl::Milliseconds(200);
// RabbitMQ reports new consumers and their messages after five seconds, or somewhat later.
constexpr absl::Duration kNewFigures = absl::Seconds(6);
constexpr absl::Duration kUntilNewFigures = absl::Seconds(12);

void Pause(EventLoop& loop) {
  const std::unique_ptr<Timer> timer = loop.After(kAskAgain, [&loop] { loop.Stop(); });
  loop.Run().IgnoreError();
}

absl::Status LimitIsUnknown(const std::string& queue, const std::string& why) {
  return absl::FailedPreconditionError(absl::StrCat(
      "the delivery limit of queue '", queue, "' is not known (", why,
      "), and with a limit of 0 reading a message drops it; remedy: name the management API by "
      "--management, with a user who may read it"));
}

// Opens a session; if the broker cannot be reached, the error has the remedy.
absl::Status OpenSession(BrokerSession& session) {
  absl::Status opened = session.Open();
  if (!absl::IsUnavailable(opened)) return opened;
  return WithRemedy(opened, UnreachableRemedy(std::string(opened.message())));
}

// Checks the type by a declare, which the broker refuses if the queue has another type.
absl::Status CheckIsClassic(EventLoop& loop, const amqp::ConnectionOptions& connection,
                            const std::string& queue, const absl::Status& why_not_asked) {
  BrokerSession session(loop, connection);
  if (absl::Status opened = OpenSession(session); !opened.ok()) return opened;
  const absl::Status there = session.DeclareQueue({.name = queue, .passive = true}).status();
  if (absl::IsDeadlineExceeded(there)) {
    return WithRemedy(absl::UnavailableError(there.message()),
                      "check that the broker runs and is not overloaded");
  }
  // The reader reports a missing queue.
  if (!there.ok()) return absl::OkStatus();
  const auto classic =
      session.DeclareQueue({.name = queue, .arguments = {{"x-queue-type", "classic"}}});
  if (classic.ok()) return absl::OkStatus();
  return LimitIsUnknown(queue, std::string(why_not_asked.message()));
}

bool IsDelayQueue(const Json& queue) {
  const Json& arguments = FieldOf(queue, "arguments");
  return arguments.is_object() && arguments.contains("x-message-ttl") &&
         arguments.contains("x-expires") && arguments.contains("x-dead-letter-exchange");
}

constexpr std::int64_t kUnlimited = -1;

// The default from RabbitMQ 4 on. Earlier versions have no default limit.
constexpr std::int64_t kDefaultDeliveryLimit = 20;

// The delivery limit of a quorum queue, from its argument and its policy in the management API's
// reply; -1: unlimited. `otherwise` is the result if neither sets one. Returns nullopt if the limit
// is not known yet, for example right after the queue was declared.
std::optional<std::int64_t> DeliveryLimitOf(const Json& queue, std::int64_t otherwise) {
  // Set from RabbitMQ 4.0 on, once there are statistics.
  if (const auto limit = IntegerOf(queue, "delivery_limit")) return limit;
  if (FieldOf(queue, "effective_policy_definition").is_null()) return std::nullopt;
  const std::optional<QueueSetting> limit = QueueSettingOf(queue, "delivery-limit");
  return limit && limit->value.is_number_integer() ? limit->value.get<std::int64_t>() : otherwise;
}

absl::Status WithRights(const absl::Status& refusal, const std::string& right) {
  return absl::IsPermissionDenied(refusal)
             ? WithRemedy(refusal, "give the user the right to " + right)
             : refusal;
}

// Returns an existing queue as the management API shows it.
absl::StatusOr<std::optional<Json>> FindQueue(ManagementApi& api, const std::string& vhost,
                                              const std::string& name) {
  auto answer = api.Get(UrlPath({"queues", vhost, name}));
  if (absl::IsNotFound(answer.status())) return std::nullopt;
  if (!answer.ok()) return answer.status();
  return std::move(answer->json);
}

// Declares the parked queue like a worker: with the type of the delay queues, without a delivery
// limit.
absl::Status DeclareParked(BrokerSession& session, const std::string& name, bool quorum) {
  amqp::Table arguments = {{"x-queue-type", quorum ? "quorum" : "classic"}};
  if (quorum && BrokerVersion::Parse(session.server_version()).HasDefaultDeliveryLimit()) {
    arguments.Set("x-delivery-limit", kUnlimited);
  }
  const auto declared = session.DeclareQueue({.name = name, .arguments = std::move(arguments)});
  return WithRights(declared.status(), absl::StrCat("configure '", name, "', or declare it"));
}

absl::Status EnsureParked(ManagementApi& api, BrokerSession& session,
                          const MessagesOptions& options, bool quorum) {
  const std::string& name = options.parked_queue;
  const auto parked = FindQueue(api, options.place.connection.vhost, name);
  if (!parked.ok()) return parked.status();
  if (!parked->has_value()) return DeclareParked(session, name, quorum);
  const std::string unfit = WhyUnfitForParking(**parked);
  if (unfit.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the parked queue '", Printable(name), "' ", unfit,
                   "; remedy: delete it, or name another queue by --parked"));
}

std::optional<QueueFigures> FiguresOf(const Json& queue) {
  const auto all = IntegerOf(queue, "messages");
  const auto unacked = IntegerOf(queue, "messages_unacknowledged");
  if (!all || !unacked || *all < 0 || *unacked < 0) return std::nullopt;
  return QueueFigures{.all = static_cast<std::uint64_t>(*all),
                      .unacked = static_cast<std::uint64_t>(*unacked)};
}

}  // namespace

absl::StatusOr<std::optional<std::int64_t>> MoveAt(const Json& queue, const std::string& name) {
  const std::optional<std::string> type = TextOf(queue, "type");
  if (type == "stream") {
    return absl::FailedPreconditionError(absl::StrCat(
        "queue '", name,
        "' is a stream, from which no message can be removed; name a classic or a quorum queue"));
  }
  if (type && *type != "quorum") return std::nullopt;
  const auto known = DeliveryLimitOf(queue, kDefaultDeliveryLimit);
  if (!known) return LimitIsUnknown(name, "the management API does not report it");
  if (*known < 0) return std::nullopt;
  if (*known < kLowest) {
    return absl::FailedPreconditionError(
        absl::StrCat("queue '", name, "' has a delivery limit of ", *known,
                     ", so reading a message may drop it; remedy: set a limit of ", kLowest,
                     " or more, or of -1 (unlimited), by a policy with delivery-limit"));
  }
  return *known / 2;
}

std::string WhyUnfitForParking(const Json& queue) {
  if (IsDelayQueue(queue)) return "is a delay queue, which messages leave when they are due";
  if (TextOf(queue, "type") == "stream") {
    return "is a stream, from which no message can be replayed";
  }
  if (!BoolOf(queue, "durable").value_or(true)) return "is not durable: a restart deletes it";
  if (BoolOf(queue, "auto_delete").value_or(false)) {
    return "is auto-delete: it is deleted with its last consumer";
  }
  if (BoolOf(queue, "exclusive").value_or(false)) return "is exclusive to another connection";
  return "";
}

absl::StatusOr<BeforeReading> AskBeforeReading(const BrokerPlace& place, const std::string& queue) {
  EventLoop loop;
  ManagementApi api(loop, place.management, {.timeout = kLongestReply});
  const absl::Time end = absl::Now() + kUntilStatistics;
  for (;;) {
    const auto answer = api.Get(UrlPath({"queues", place.connection.vhost, queue}));
    // The API of another broker does not know the queue.
    if (!answer.ok()) {
      if (absl::Status classic = CheckIsClassic(loop, place.connection, queue, answer.status());
          !classic.ok()) {
        return classic;
      }
      return BeforeReading();
    }
    if (IsDelayQueue(answer->json)) {
      return absl::FailedPreconditionError(
          absl::StrCat("queue '", queue,
                       "' is a delay queue: its messages wait for their next attempt; remedy: use "
                       "retryq waiting, or name the parked queue by --parked"));
    }
    const auto move_at = MoveAt(answer->json, queue);
    if (move_at.ok()) {
      return BeforeReading{.move_at = *move_at,
                           .figures = FiguresOf(answer->json),
                           .is_classic = TextOf(answer->json, "type") == "classic"};
    }
    if (DeliveryLimitOf(answer->json, kDefaultDeliveryLimit) || absl::Now() > end) {
      return move_at.status();
    }
    Pause(loop);
  }
}

absl::Status HeldByOthers(const BrokerPlace& place, const std::string& queue) {
  EventLoop loop;
  ManagementApi api(loop, place.management, {.timeout = kLongestReply});
  BrokerSession session(loop, place.connection);
  const absl::Time begin = absl::Now();
  std::optional<QueueFigures> figures;
  bool is_old = session.Open().ok();
  while (is_old && absl::Now() < begin + kUntilNewFigures) {
    const auto now = session.DeclareQueue({.name = queue, .passive = true});
    const auto answer = api.Get(UrlPath({"queues", place.connection.vhost, queue}));
    if (!now.ok() || !answer.ok()) break;
    const std::int64_t consumers = now->consumer_count;
    is_old = IntegerOf(answer->json, "consumers").value_or(-1) != consumers;
    if (!is_old) figures = FiguresOf(answer->json);
    // From 4.3 on, the API may report a consumer before its unacked messages, and unacked messages
    // after their consumer is gone.
    if (figures) {
      is_old |= figures->unacked == 0 ? absl::Now() < begin + kNewFigures : consumers == 0;
    }
    if (is_old) Pause(loop);
  }
  if (figures && figures->unacked == 0) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat(figures ? absl::StrCat(figures->unacked, " messages") : "messages",
                   " of queue '", queue, "' ", figures ? "are" : "may be",
                   " with another consumer, or being requeued, and were not read; remedy: run the "
                   "command again when they have been requeued"));
}

std::optional<DelayQueue> ParseDelayQueue(const Json& queue, std::string_view prefix,
                                          std::string_view work_queue, std::int64_t default_limit) {
  const std::optional<std::string> name = TextOf(queue, "name");
  const auto parts = name ? ParseDelayQueueName(*name, prefix) : std::nullopt;
  if (!parts || !parts->exchange.empty() || IsThrowAway(*parts)) return std::nullopt;
  const std::string& owner = parts->work_queue;
  const bool is_hashed = owner.starts_with('#');  // a long name is hashed: the messages name it
  if (!owner.empty() && !is_hashed && owner != work_queue) return std::nullopt;
  const Json& arguments = FieldOf(queue, "arguments");
  DelayQueue found{.name = *name,
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

bool WaitsFor(const amqp::Message& message, const DelayQueue& queue, std::string_view work_queue) {
  const std::optional<std::string_view> failed_in = MessageHistory(message).queue;
  const bool has_failed_there = failed_in == work_queue;
  if (!queue.dead_letter_exchange.empty()) return has_failed_there;
  return message.routing_key == work_queue && (has_failed_there || !failed_in);
}

absl::StatusOr<Scope> FindDelayQueues(const MessagesOptions& options) {
  EventLoop loop;
  ManagementApi api(loop, options.place.management);
  const std::string& vhost = options.place.connection.vhost;
  const auto work_queue = FindQueue(api, vhost, options.work_queue);
  if (!work_queue.ok()) return work_queue.status();
  Scope scope{.sources = {}, .has_work_queue = work_queue->has_value()};
  if (options.action == MessageAction::kRelease && !scope.has_work_queue) {
    return NoWorkQueue(options);
  }
  BrokerSession session(loop, Named(options.place.connection, "retryq waiting"));
  if (absl::Status opened = OpenSession(session); !opened.ok()) return opened;

  const std::int64_t limit =
      BrokerVersion::Parse(session.server_version()).HasDefaultDeliveryLimit()
          ? kDefaultDeliveryLimit
          : kUnlimited;
  std::vector<DelayQueue> queues;
  const absl::Status visited =
      VisitQueues(api, vhost, options.prefix + ".", [&](const Json& json, absl::Time /*at*/) {
        auto queue = ParseDelayQueue(json, options.prefix, options.work_queue, limit);
        if (queue) queues.push_back(*std::move(queue));
      });
  if (!visited.ok()) return visited;
  std::sort(queues.begin(), queues.end(), [](const DelayQueue& a, const DelayQueue& b) {
    return std::tie(a.ttl, a.name) < std::tie(b.ttl, b.name);
  });
  if (options.action == MessageAction::kPark) {
    const bool quorum = std::any_of(queues.begin(), queues.end(),
                                    [](const DelayQueue& queue) { return queue.is_quorum; });
    const absl::Status parked =
        queues.empty() ? absl::OkStatus() : EnsureParked(api, session, options, quorum);
    if (!parked.ok()) return parked;
  }
  for (DelayQueue& queue : queues) {
    const auto there = session.DeclareQueue({.name = queue.name, .passive = true});
    if (absl::IsNotFound(there.status())) continue;  // it has expired meanwhile
    if (!there.ok()) {
      return WithRights(there.status(), "read the delay queues: ^" + options.prefix + "\\.");
    }
    const bool is_held = there->consumer_count > 0 || (queue.figures && queue.figures->unacked > 0);
    if (there->message_count == 0 && !is_held) continue;
    scope.sources.push_back({.queue = queue.name, .delay = std::move(queue)});
  }
  return scope;
}

absl::Status NoWorkQueue(const MessagesOptions& options) {
  return absl::NotFoundError(
      absl::StrCat("there is no queue '", EscapedText(options.work_queue), "' in vhost '",
                   EscapedText(options.place.connection.vhost),
                   "': correct --queue or the end of --url, or declare it (retryq declare)"));
}

}  // namespace retryq::cli
