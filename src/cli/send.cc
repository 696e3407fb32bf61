#include "cli/send.h"

#include <unistd.h>

#include <optional>
#include <utility>

#include "cli/duration.h"
#include "cli/io.h"
#include "retryq/retryq.h"

namespace retryq::cli {
namespace {

constexpr absl::Duration kDeadline = absl::Seconds(30);

// Remembers by which way the message went.
class RouteObserver : public Observer {
 public:
  void OnEvent(const Event& event) override {
    if (event.kind != EventKind::kPublished) return;
    delay_queue_ = event.delay_queue;
    delay_ = event.delay.value_or(absl::ZeroDuration());
  }

  const std::string& delay_queue() const { return delay_queue_; }
  absl::Duration delay() const { return delay_; }

 private:
  std::string delay_queue_;
  absl::Duration delay_;
};

std::string Target(const OutgoingMessage& message) {
  if (message.exchange.empty()) return "queue " + message.routing_key;
  return "exchange " + message.exchange + " with routing key " + message.routing_key;
}

std::string DescribeRoute(const SendOptions& options, const std::string& target,
                          const RouteObserver& route) {
  if (options.delay <= absl::ZeroDuration()) return "";
  const std::string kept = DurationText(route.delay());
  const bool rounded = route.delay() != options.delay;
  return "waits in " + route.delay_queue() + " and arrives in " + target + " after " + kept +
         (rounded ? ", as " + DurationText(options.delay) + " is rounded up" : "");
}

}  // namespace

absl::StatusOr<std::string> Send(SendOptions options) {
  if (options.body_from_stdin) {
    absl::StatusOr<std::string> body = ReadAll(STDIN_FILENO);
    if (!body.ok()) return body.status();
    options.message.body = *std::move(body);
  }
  const std::string target = Target(options.message);
  RouteObserver route;
  options.client.observer = &route;
  absl::Status published;
  EventLoop loop;
  Client client(loop, options.client);
  client.Publish(std::move(options.message), options.delay, kDeadline, [&](absl::Status status) {
    published = std::move(status);
    loop.Stop();
  });
  if (absl::Status run = loop.Run(); !run.ok()) return run;
  if (!published.ok()) return published;
  return DescribeRoute(options, target, route);
}

}  // namespace retryq::cli
