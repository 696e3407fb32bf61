#include "cli/messages/delivery_limit.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cli/connect/broker_session.h"
#include "cli/management/http_client.h"
#include "cli/management/json_fields.h"
#include "cli/management/management_api.h"
#include "cli/text/waiting.h"
#include "retryq/event_loop.h"

namespace retryq::cli {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kLowest = 2;  // the lowest limit that MoveAt can handle
constexpr std::int64_t kNoLimit = -1;
constexpr absl::Duration kLongestLookAtLimit = absl::Seconds(4);

// RabbitMQ uses the smaller limit of an argument and a policy; any limit is stricter than none.
std::int64_t Stricter(std::int64_t a, std::int64_t b) {
  return a < 0 || b < 0 ? std::max(a, b) : std::min(a, b);
}

// RabbitMQ reports the policy of a new queue after five seconds, or later if it is busy.
constexpr absl::Duration kUntilStatistics = absl::Seconds(30);
constexpr absl::Duration kAskAgain = absl::Milliseconds(200);
// It reports new consumers and their messages after five seconds or more.
constexpr absl::Duration kUntilNewFigures = absl::Seconds(12);

void Pause(EventLoop& loop) {
  const std::unique_ptr<Timer> timer = loop.After(kAskAgain, [&loop] { loop.Stop(); });
  loop.Run().IgnoreError();
}

std::string PathOf(const std::string& vhost, const std::string& queue) {
  return absl::StrCat("/queues/", PercentEncode(vhost), "/", PercentEncode(queue));
}

absl::Status LimitIsUnknown(const std::string& queue, const std::string& why) {
  return absl::FailedPreconditionError(absl::StrCat(
      "the delivery limit of queue '", queue, "' is not known (", why,
      "), and a limit of 0 drops what is only looked at; remedy: name the management API by "
      "--management, with a user who may read it"));
}

// Checks it by a declare, which the broker refuses if the queue is of another type.
absl::Status CheckIsClassic(EventLoop& loop, const amqp::ConnectionOptions& connection,
                            const std::string& queue, const absl::Status& why_not_asked) {
  BrokerSession session(loop, connection);
  if (absl::Status opened = session.Open(); !opened.ok()) {
    if (!absl::IsUnavailable(opened)) return opened;
    return absl::UnavailableError(absl::StrCat(
        opened.message(), "; remedy: ", UnreachableRemedy(std::string(opened.message()))));
  }
  // The reader reports a missing queue.
  if (!session.DeclareQueue({.name = queue, .passive = true}).ok()) return absl::OkStatus();
  const auto classic =
      session.DeclareQueue({.name = queue, .arguments = {{"x-queue-type", "classic"}}});
  if (classic.ok()) return absl::OkStatus();
  return LimitIsUnknown(queue, std::string(why_not_asked.message()));
}

}  // namespace

std::optional<std::int64_t> DeliveryLimitOf(const Json& queue, std::int64_t otherwise) {
  // Set from RabbitMQ 4.0 on, once there are statistics.
  if (const auto limit = IntegerOf(queue, "delivery_limit")) return limit;
  const Json& policy = FieldOf(queue, "effective_policy_definition");
  if (policy.is_null()) return std::nullopt;
  const auto by_argument = IntegerOf(FieldOf(queue, "arguments"), "x-delivery-limit");
  const auto by_policy = IntegerOf(policy, "delivery-limit");
  if (by_argument && by_policy) return Stricter(*by_argument, *by_policy);
  if (by_argument) return by_argument;
  return by_policy.value_or(otherwise);
}

absl::StatusOr<std::optional<std::int64_t>> MoveAt(const Json& queue, const std::string& name) {
  const std::optional<std::string> type = TextOf(queue, "type");
  if (type == "stream") {
    return absl::FailedPreconditionError(absl::StrCat(
        "queue '", name,
        "' is a stream, which nothing can be taken off; name a classic or a quorum queue"));
  }
  if (type && *type != "quorum") return std::nullopt;
  const auto known = DeliveryLimitOf(queue, kDefaultDeliveryLimit);
  if (!known) return LimitIsUnknown(name, "the management API does not say it");
  const std::int64_t limit = *known;
  if (limit <= kNoLimit) return std::nullopt;
  if (limit < kLowest) {
    return absl::FailedPreconditionError(
        absl::StrCat("queue '", name, "' has a delivery limit of ", limit,
                     ", so that it may drop what is only looked at; remedy: a limit of ", kLowest,
                     " or more, or of -1, which is none, by a policy with delivery-limit"));
  }
  return limit / 2;
}

std::optional<QueueFigures> FiguresOf(const Json& queue) {
  const auto all = IntegerOf(queue, "messages");
  const auto unacked = IntegerOf(queue, "messages_unacknowledged");
  if (!all || !unacked || *all < 0 || *unacked < 0) return std::nullopt;
  return QueueFigures{.all = static_cast<std::uint64_t>(*all),
                      .unacked = static_cast<std::uint64_t>(*unacked)};
}

absl::StatusOr<BeforeLooking> AskBeforeLooking(const ManagementUrl& management,
                                               const amqp::ConnectionOptions& connection,
                                               const std::string& queue) {
  EventLoop loop;
  ManagementApi api(loop, management, {.timeout = kLongestLookAtLimit});
  const absl::Time end = absl::Now() + kUntilStatistics;
  for (;;) {
    const auto answer = api.Get(PathOf(connection.vhost, queue));
    if (absl::IsNotFound(answer.status())) return BeforeLooking();
    if (!answer.ok()) {
      if (absl::Status classic = CheckIsClassic(loop, connection, queue, answer.status());
          !classic.ok()) {
        return classic;
      }
      return BeforeLooking();
    }
    const auto move_at = MoveAt(answer->json, queue);
    if (move_at.ok()) return BeforeLooking{*move_at, FiguresOf(answer->json)};
    if (DeliveryLimitOf(answer->json, kDefaultDeliveryLimit) || absl::Now() > end) {
      return move_at.status();
    }
    Pause(loop);
  }
}

absl::Status HeldByOthers(const ManagementUrl& management, const std::string& vhost,
                          const std::string& queue, std::uint32_t consumers) {
  EventLoop loop;
  ManagementApi api(loop, management, {.timeout = kLongestLookAtLimit});
  const absl::Time end = absl::Now() + kUntilNewFigures;
  std::optional<QueueFigures> figures;
  for (bool is_old = true; is_old;) {
    const auto answer = api.Get(PathOf(vhost, queue));
    if (!answer.ok()) break;
    is_old = IntegerOf(answer->json, "consumers").value_or(-1) < std::int64_t{consumers};
    if (!is_old) figures = FiguresOf(answer->json);
    if (absl::Now() > end) break;
    if (is_old) Pause(loop);
  }
  if (figures && figures->unacked == 0) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(
      figures ? absl::StrCat(figures->unacked, " messages") : "messages", " of queue '", queue,
      "' ", figures ? "are" : "may be",
      " with another consumer, or on their way back from one, and were not seen; remedy: run it "
      "again when they are back"));
}

}  // namespace retryq::cli
