// Publishes reminders with a delay, and consumes them when they arrive. This needs no plugin: the
// messages wait in ordinary queues, which expire by themselves.
//
//   delayed_publishing [QUEUE]      RETRYQ_URL names the broker; the queue must exist
//
// QUEUE is "reminders" by default. Exits when all reminders have arrived, after three seconds.
#include <cstdlib>
#include <iostream>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "retryq/retryq.h"

namespace {

int Fail(const absl::Status& status) {
  std::cerr << "delayed_publishing: " << status << '\n';
  return retryq::ExitCode(status);
}

}  // namespace

int main(int argc, char** argv) {
  const char* url = std::getenv("RETRYQ_URL");
  const std::string queue = argc > 1 ? argv[1] : "reminders";

  retryq::EventLoop loop;
  retryq::Client client(loop, {.url = url != nullptr ? url : "amqp://localhost"});
  const absl::Time start = absl::Now();

  std::set<std::string> awaited;
  const auto reminder = [&](const std::string& text) {
    awaited.insert(text);
    return retryq::OutgoingMessage{.routing_key = queue, .body = text};
  };
  // Called with OK when the broker has confirmed the message; the program may then forget it.
  const auto published = [&loop](const absl::Status& status) {
    if (!status.ok()) loop.Fail(status);
  };

  retryq::DelayedPublisher publisher(client);
  publisher.PublishAfter(reminder("at once"), absl::ZeroDuration(), published);
  publisher.PublishAfter(reminder("after 500 ms"), absl::Milliseconds(500), published);
  // This message passes through several delay queues. Consumers of retryq pass it to no handler
  // before it is due.
  publisher.PublishAfter(reminder("after 1234 ms"), absl::Milliseconds(1234), published);
  publisher.PublishAt(reminder("at a time 2 s from now"), start + absl::Seconds(2), published);

  // For a queue that other programs consume: the message waits in one delay queue only, so the
  // delay is rounded up to a delay that has a queue, here 3 s.
  retryq::DelayedPublisher for_any_consumer(client, {.round_up = true});
  for_any_consumer.PublishAfter(reminder("after 2500 ms, rounded up"), absl::Milliseconds(2500),
                                published);

  const absl::StatusOr<retryq::Consumer> reminders =
      client.Consume({.queue = queue}, [&](const retryq::Delivery& delivery) {
        const std::string text(delivery.body());
        std::cout << absl::ToInt64Milliseconds(absl::Now() - start) << " ms: " << text << std::endl;
        awaited.erase(text);
        if (awaited.empty()) loop.Drain();
        return absl::OkStatus();
      });
  if (!reminders.ok()) return Fail(reminders.status());

  const absl::Status end = loop.RunUntilSignal();
  if (!end.ok()) return Fail(end);
  return awaited.empty() ? EXIT_SUCCESS : EXIT_FAILURE;
}
