#include "cli/send/send_command.h"

#include <unistd.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/connect/broker_session.h"
#include "cli/connect/broker_watch.h"
#include "cli/connect/orderly_end.h"
#include "cli/management/management_flags.h"
#include "cli/send/binding_check.h"
#include "cli/send/remedies.h"
#include "cli/text/duration.h"
#include "cli/text/io.h"
#include "retryq/retryq.h"

namespace retryq::cli {
namespace {

// Remembers the route of the message.
class RouteObserver : public Observer {
 public:
  explicit RouteObserver(BrokerWatch& watch) : watch_(watch) {}

  void OnEvent(const Event& event) override {
    watch_.OnEvent(event);
    if (event.kind != EventKind::kPublished) return;
    delay_queue_ = event.delay_queue;
    delay_ = event.delay.value_or(absl::ZeroDuration());
  }

  const std::string& delay_queue() const { return delay_queue_; }
  absl::Duration delay() const { return delay_; }

 private:
  BrokerWatch& watch_;
  std::string delay_queue_;
  absl::Duration delay_;
};

std::string Target(const OutgoingMessage& message) {
  if (message.exchange.empty()) return "queue " + message.routing_key;
  return "exchange " + message.exchange + " with routing key " + message.routing_key;
}

std::string DescribeRoute(const SendOptions& options, const std::string& target,
                          const RouteObserver& route) {
  if (options.publish.at) {
    if (route.delay_queue().empty()) return "";
    return absl::StrCat(
        "waits in ", route.delay_queue(), " and arrives in ", target, " at ",
        absl::FormatTime(absl::RFC3339_sec, *options.publish.at, absl::UTCTimeZone()));
  }
  const absl::Duration asked = options.publish.delay;
  if (asked <= absl::ZeroDuration()) return "";
  const std::string way = "waits in " + route.delay_queue() + " and arrives in " + target;
  const std::string kept = " after " + DurationText(route.delay());
  const std::string whole = absl::StrCat(options.client.delay_queues.prefix, ".",
                                         absl::ToInt64Milliseconds(route.delay()));
  if (route.delay_queue() != whole && !options.publish.round_up) {
    return way + ", where retryq handles it" + kept;
  }
  return way + kept +
         (route.delay() != asked ? ", as " + DurationText(asked) + " is rounded up" : "");
}

}  // namespace

absl::StatusOr<std::string> Send(SendOptions options) {
  if (options.body_from_stdin) {
    absl::StatusOr<std::string> body = ReadAll(STDIN_FILENO);
    if (!body.ok()) return body.status();
    options.message.body = *std::move(body);
  }
  const std::string target = Target(options.message);
  const bool to_queue = options.message.exchange.empty();
  std::string doubt;
  if (!to_queue && (options.publish.at || options.publish.delay > absl::ZeroDuration())) {
    const absl::Status bound = BindingCheck(ConnectionOf(options.client)).Check(options.message);
    if (absl::IsNotFound(bound)) return WithSendRemedy(bound, to_queue);
    if (!bound.ok()) {
      doubt = absl::StrCat("; if no queue is bound there then, the broker drops it (",
                           std::string(bound.message()), ")");
    }
  }
  EventLoop loop;
  BrokerWatch watch(loop, options.client, options.wait, "the message is not confirmed yet");
  RouteObserver route(watch);
  options.client.observer = &route;
  const absl::Duration deadline = options.wait + kLongestSilence;
  options.publish.deadline = deadline;
  absl::Status published;
  Client client(loop, options.client);
  const auto publish = [&] {
    client.Publish(std::move(options.message), options.publish, [&](absl::Status status) {
      published = WithSendRemedy(status, to_queue);
      loop.Stop();
    });
  };
  if (options.declare) {
    client.Declare(*options.declare, {.only_if_missing = true, .deadline = deadline},
                   [&](absl::Status status) {
                     if (status.ok()) return publish();
                     published = std::move(status);
                     loop.Stop();
                   });
  } else {
    publish();
  }
  const absl::Status run = loop.Run();
  if (watch.has_connected()) SayGoodbye(loop);
  if (!run.ok()) return run;
  if (!published.ok()) return published;
  std::string described = DescribeRoute(options, target, route);
  return described.empty() ? described : described + doubt;
}

}  // namespace retryq::cli
