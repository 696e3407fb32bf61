#include "cli/send/send.h"

#include <unistd.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/text/duration.h"
#include "cli/text/io.h"
#include "cli/text/waiting.h"
#include "retryq/amqp/connection_options.h"
#include "retryq/retryq.h"

namespace retryq::cli {
namespace {

// An error as a status prints it, without its code.
std::string_view WithoutCode(std::string_view error) {
  const std::size_t end = error.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
  return end > 0 && error.substr(end).starts_with(": ") ? error.substr(end + 2) : error;
}

// Remembers by which way the message went, and reports what holds it up.
class RouteObserver : public Observer {
 public:
  explicit RouteObserver(Waiting& waiting) : waiting_(waiting) {}

  void OnEvent(const Event& event) override {
    if (event.kind == EventKind::kBlocked) {
      waiting_.Because(absl::StrCat("it takes no messages for now: ", std::string(event.error)));
    } else if (!event.error.empty()) {
      waiting_.Because(WithoutCode(event.error));
    } else if (event.kind == EventKind::kConnected || event.kind == EventKind::kUnblocked) {
      waiting_.Because("the message is not confirmed yet");
    }
    if (event.kind != EventKind::kPublished) return;
    delay_queue_ = event.delay_queue;
    delay_ = event.delay.value_or(absl::ZeroDuration());
  }

  const std::string& delay_queue() const { return delay_queue_; }
  absl::Duration delay() const { return delay_; }

 private:
  Waiting& waiting_;
  std::string delay_queue_;
  absl::Duration delay_;
};

std::string Target(const OutgoingMessage& message) {
  if (message.exchange.empty()) return "queue " + message.routing_key;
  return "exchange " + message.exchange + " with routing key " + message.routing_key;
}

std::string DescribeBroker(const ClientOptions& client) {
  std::vector<std::string> urls = client.more_urls;
  urls.insert(urls.begin(), client.url);
  const absl::StatusOr<amqp::ConnectionOptions> connection = amqp::ParseUris(urls);
  return connection.ok() ? amqp::Describe(*connection) : "the broker";
}

std::string DescribeRoute(const SendOptions& options, const std::string& target,
                          const RouteObserver& route) {
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
  EventLoop loop;
  Waiting waiting(loop, DescribeBroker(options.client));
  RouteObserver route(waiting);
  options.client.observer = &route;
  absl::Status published;
  Client client(loop, options.client);
  client.Publish(std::move(options.message), options.publish, [&](absl::Status status) {
    published = std::move(status);
    loop.Stop();
  });
  if (absl::Status run = loop.Run(); !run.ok()) return run;
  if (!published.ok()) return published;
  return DescribeRoute(options, target, route);
}

}  // namespace retryq::cli
