// Sends reminders that arrive later, and takes them when they do. No plugin is needed: they wait in
// ordinary queues, which vanish by themselves.
//
//   delayed_publishing [QUEUE]      on the broker that RETRYQ_URL names; the queue must exist
//
// Ends when all have arrived, after three seconds.
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
  // Ok once the broker has it for sure: from then on nobody here needs to remember it.
  const auto answered = [&loop](const absl::Status& status) {
    if (!status.ok()) loop.Fail(status);
  };

  retryq::DelayedPublisher publisher(client);
  publisher.PublishAfter(reminder("at once"), absl::ZeroDuration(), answered);
  publisher.PublishAfter(reminder("after 500 ms"), absl::Milliseconds(500), answered);
  // Goes through several delay queues; consumers of retryq do not hand it out before it is due.
  publisher.PublishAfter(reminder("after 1234 ms"), absl::Milliseconds(1234), answered);
  publisher.PublishAt(reminder("at a time 2 s from now"), start + absl::Seconds(2), answered);

  // For a queue that something else consumes: it waits in one delay queue until it is due, so the
  // delay is rounded up to one of a grid of round numbers, here to 3 s.
  retryq::DelayedPublisher for_any_consumer(client, {.round_up = true});
  for_any_consumer.PublishAfter(reminder("after 2500 ms, rounded up"), absl::Milliseconds(2500),
                                answered);

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
