// A worker of the fault suite: retries by plan, and writes down what it does.
//
//   fault_worker LOG classic|quorum CONFIRM_TIMEOUT_MS URL…

#include <signal.h>
#include <sys/prctl.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fault/plan.h"
#include "fault/worker_log.h"
#include "retryq/retryq.h"

namespace retryq::fault {
namespace {

class Worker final : public Observer {
 public:
  explicit Worker(const std::string& log) : log_(log) {}

  Outcome Handle(const Delivery& delivery) {
    const std::optional<MessageName> name = MessageName::Parse(delivery.body());
    if (!name.has_value()) return absl::InvalidArgumentError("not a message of this suite");
    if (delivery.attempt() < FailuresOf(name->number)) return absl::UnavailableError("as planned");
    log_.Append(WorkerAct::kHandled, *name);
    return absl::OkStatus();
  }

  void OnEvent(const Event& event) override {
    if (event.kind == EventKind::kRetried || event.kind == EventKind::kParked) {
      const std::optional<MessageName> name = MessageName::Parse(event.delivery->body());
      if (!name.has_value()) return;
      log_.Append(event.kind == EventKind::kRetried ? WorkerAct::kRetried : WorkerAct::kParked,
                  *name);
    } else if (event.kind != EventKind::kHandled && event.kind != EventKind::kFailed) {
      // For whoever looks into a run that failed.
      std::cerr << absl::FormatTime("%H:%M:%E3S", event.time, absl::LocalTimeZone()) << ' '
                << EventName(event.kind) << ' ' << event.queue << ' ' << event.delay_queue << ' '
                << event.error << std::endl;
    }
  }

 private:
  WorkerLog log_;
};

int Run(const std::vector<std::string>& arguments) {
  Worker worker(arguments[0]);
  EventLoop loop;
  ClientOptions options;
  options.url = arguments[3];
  options.more_urls.assign(arguments.begin() + 4, arguments.end());
  options.name = "fault_worker";
  options.observer = &worker;
  options.delay_queues.queue_type =
      arguments[1] == "quorum" ? QueueType::kQuorum : QueueType::kClassic;
  options.delay_queues.margin = absl::Seconds(8);
  options.delay_queues.confirm_timeout = absl::Milliseconds(std::stol(arguments[2]));
  Client client(loop, options);
  ConsumerOptions consumer_options;
  consumer_options.queue = kWorkQueue;
  consumer_options.parked_queue = kParkedQueue;
  consumer_options.prefetch = 32;
  consumer_options.retry.backoff.base = absl::Milliseconds(400);
  consumer_options.retry.max_attempts = kMaxAttempts;
  // Workers die by the dozen here, of no message's fault.
  consumer_options.retry.count_redeliveries = CountRedeliveries::kNever;
  const absl::StatusOr<Consumer> consumer =
      client.Consume(std::move(consumer_options),
                     [&](const Delivery& delivery) { return worker.Handle(delivery); });
  const absl::Status end = consumer.ok() ? loop.RunUntilSignal() : consumer.status();
  if (!end.ok()) std::cerr << "fault_worker: " << end << std::endl;
  return ExitCode(end);
}

}  // namespace
}  // namespace retryq::fault

int main(int argc, char** argv) {
  // Nothing is left of a suite that was killed.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (argc < 5) {
    std::cerr << "usage: fault_worker LOG classic|quorum CONFIRM_TIMEOUT_MS URL...\n";
    return 64;
  }
  return retryq::fault::Run({argv + 1, argv + argc});
}
