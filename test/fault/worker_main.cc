// A worker of the fault suite: messages fail as messages.h plans, and it logs its actions.
//
//   fault_worker LOG classic|quorum CONFIRM_TIMEOUT_MS [FLAG…] URL…
//     --orders     consumes the work queue that faults are about
//     --unaffected   consumes the one beside it; both: one client, two consumers
//     --share      names quorum delay queues as before they belonged to a work queue
//     --count      counts redeliveries, as workers do by default
//     --hang       never settles some messages (plan.h)

#include <signal.h>
#include <sys/prctl.h>

#include <iostream>

#include "fault/messages.h"
#include "fault/worker_log.h"
#include "retryq/retryq.h"
#include "support/standard.h"

namespace retryq::fault {
namespace {

constexpr int kUsageError = 64;

class Worker final : public Observer {
 public:
  Worker(const std::string& log, bool hangs) : log_(log), hangs_(hangs) {}

  void Handle(const Delivery& delivery, Settlement settlement) {
    const std::optional<MessageName> name = MessageName::Parse(delivery.body());
    if (!name.has_value()) {
      return std::move(settlement).Settle(absl::InvalidArgumentError("not of this suite"));
    }
    if (hangs_ && name->kind == Kind::kOrder && Hangs(name->number)) {
      hanging_.push_back(std::move(settlement));
      return;
    }
    std::move(settlement).Settle(OutcomeOf(*name, delivery.attempt()));
  }

  void OnEvent(const Event& event) override {
    if (event.kind == EventKind::kRetried || event.kind == EventKind::kParked) {
      const std::optional<MessageName> name = MessageName::Parse(event.delivery->body());
      if (!name.has_value()) return;
      log_.Append(event.kind == EventKind::kRetried ? WorkerAct::kRetried : WorkerAct::kParked,
                  *name, event.attempt.value_or(0) + 1);
    } else if (event.kind != EventKind::kDelivered && event.kind != EventKind::kHandled &&
               event.kind != EventKind::kFailed) {
      // For a run that failed.
      std::cerr << absl::FormatTime("%H:%M:%E3S", event.time, absl::LocalTimeZone()) << ' '
                << EventName(event.kind) << ' ' << event.queue << ' ' << event.delay_queue << ' '
                << event.error << std::endl;
    }
  }

 private:
  Outcome OutcomeOf(const MessageName& name, std::uint64_t failures) {
    if (name.kind == Kind::kPoison) {
      // Exits at once, like a crash.
      if (PoisonOf(name.number) == Poison::kKills) std::_Exit(EXIT_FAILURE);
      return absl::UnavailableError("poison");
    }
    if (name.kind == Kind::kUnaffected) log_.Append(WorkerAct::kCalled, name, failures);
    if (failures < FailuresOf(name.number)) return absl::UnavailableError("as planned");
    log_.Append(WorkerAct::kHandled, name);
    return absl::OkStatus();
  }

  WorkerLog log_;
  const bool hangs_;
  std::vector<Settlement> hanging_;
};

struct Flags {
  bool orders = false;
  bool unaffected = false;
  bool share = false;
  bool count = false;
  bool hang = false;
};

// Returns the number of flags from argument `from` on.
std::size_t Parse(const std::vector<std::string>& arguments, std::size_t from, Flags* flags) {
  const std::map<std::string_view, bool*> known = {{"--orders", &flags->orders},
                                                   {"--unaffected", &flags->unaffected},
                                                   {"--share", &flags->share},
                                                   {"--count", &flags->count},
                                                   {"--hang", &flags->hang}};
  std::size_t count = 0;
  for (; from + count < arguments.size(); ++count) {
    const auto flag = known.find(arguments[from + count]);
    if (flag == known.end()) break;
    *flag->second = true;
  }
  return count;
}

int Run(const std::vector<std::string>& arguments) {
  constexpr std::size_t kFirstFlag = 3;
  Flags flags;
  const std::size_t first_url = kFirstFlag + Parse(arguments, kFirstFlag, &flags);
  if (first_url == arguments.size()) return kUsageError;
  Worker worker(arguments[0], flags.hang);
  EventLoop loop;
  ClientOptions options;
  options.url = arguments[first_url];
  options.more_urls.assign(arguments.begin() + static_cast<std::ptrdiff_t>(first_url) + 1,
                           arguments.end());
  options.name = "fault_worker";
  options.observer = &worker;
  options.delay_queues.queue_type =
      arguments[1] == "quorum" ? QueueType::kQuorum : QueueType::kClassic;
  options.delay_queues.share = flags.share;
  options.delay_queues.margin = absl::Seconds(8);
  options.delay_queues.confirm_timeout = absl::Milliseconds(std::stol(arguments[2]));
  Client client(loop, options);
  std::vector<Consumer> consumers;
  const auto consume = [&](const char* queue, const char* parked_queue) -> absl::Status {
    ConsumerOptions consumer_options;
    consumer_options.queue = queue;
    consumer_options.parked_queue = parked_queue;
    consumer_options.prefetch = kPrefetch;
    consumer_options.retry.backoff.base = kBaseDelay;
    consumer_options.retry.max_attempts = kMaxAttempts;
    // Workers are often killed here, and no message is the cause.
    if (!flags.count) consumer_options.retry.count_redeliveries = CountRedeliveries::kNever;
    absl::StatusOr<Consumer> consumer =
        client.Consume(std::move(consumer_options), [&](Delivery delivery, Settlement settlement) {
          worker.Handle(delivery, std::move(settlement));
        });
    if (consumer.ok()) consumers.push_back(*std::move(consumer));
    return consumer.status();
  };
  absl::Status end = absl::OkStatus();
  if (flags.orders) end.Update(consume(kWorkQueue, kParkedQueue));
  if (flags.unaffected) end.Update(consume(kUnaffectedQueue, kUnaffectedParkedQueue));
  if (end.ok()) end = loop.RunUntilSignal();
  if (!end.ok()) std::cerr << "fault_worker: " << end << std::endl;
  return ExitCode(end);
}

}  // namespace
}  // namespace retryq::fault

int main(int argc, char** argv) {
  // If the suite is killed, this process dies too.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (argc < 5) {
    std::cerr << "usage: fault_worker LOG classic|quorum CONFIRM_TIMEOUT_MS [FLAG...] URL...\n";
    return 64;
  }
  return retryq::fault::Run({argv + 1, argv + argc});
}
