#include "cli/worker/work_command.h"

#include <prometheus/labels.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/connect/broker_session.h"
#include "cli/doctor/doctor_command.h"
#include "cli/process/subprocess.h"
#include "cli/tracing/span_export.h"
#include "cli/worker/broker_checks.h"
#include "cli/worker/command_pool.h"
#include "cli/worker/event_log.h"
#include "cli/worker/work_metrics.h"
#include "retryq/amqp/connection_options.h"
#include "retryq/retryq.h"

namespace retryq::cli {
namespace {

EventLog::Options LogOptions(const WorkOptions& options) {
  return {.format = options.json ? EventLog::Format::kJson : EventLog::Format::kText,
          .from = options.log_from};
}

// The log goes to stderr, unless it is JSON.
Outlet::Options ErrorsOptions(const WorkOptions& options) {
  Outlet::Options errors = {.fd = STDERR_FILENO};
  if (!options.json) {
    errors.gap = [](std::uint64_t lines) {
      return EventLog::DroppedLine(EventLog::Format::kText, lines);
    };
  }
  return errors;
}

Outlet::Options EventsOptions(Outlet& errors) {
  return {
      .fd = STDOUT_FILENO,
      .gap =
          [](std::uint64_t lines) { return EventLog::DroppedLine(EventLog::Format::kJson, lines); },
      .on_trouble =
          [&errors](int error) {
            errors.Write(absl::StrCat(
                "retryq work: cannot write to stdout: ",
                error == 0 ? "its reader does not read" : std::strerror(error),
                error == EPIPE ? "; no more events are logged\n" : "; lines are dropped\n"));
          }};
}

// RabbitMQ's default.
constexpr absl::Duration kUsualConsumerTimeout = absl::Minutes(30);

// The interval of checks for messages that run too long.
constexpr absl::Duration kLookEvery = absl::Seconds(1);

// How long the worker waits at its end for the confirms of requeued messages, after a second signal
// or --grace.
constexpr absl::Duration kRequeuePatience = absl::Seconds(1);

// Labels that distinguish workers on several brokers and vhosts.
prometheus::Labels MetricLabels(const WorkOptions& options) {
  prometheus::Labels labels = {{"vhost", options.place.connection.vhost}};
  if (const auto broker = amqp::ParseUri(options.place.client.url); broker.ok()) {
    labels["broker"] = amqp::Describe(broker->endpoints.front());
  }
  return labels;
}

// One run of `retryq work`: connects consumer, children and log, and stops them in order.
class Worker : private Observer {
 public:
  explicit Worker(const WorkOptions& options)
      : options_(options),
        errors_(ErrorsOptions(options)),
        events_(options.json ? std::make_unique<Outlet>(EventsOptions(errors_)) : nullptr),
        log_(loop_, events_ ? *events_ : errors_, LogOptions(options)),
        spans_(loop_, options.otlp,
               [this](const std::string& why) { Say(Severity::kWarning, "spans_lost", why); }),
        returns_(loop_,
                 {.management = options.place.management,
                  .vhost = options.place.connection.vhost,
                  .queue = options.consumer.queue},
                 {.trouble = [this](const auto& trouble) { OnReturns(trouble); },
                  .cannot_look =
                      [this](const std::string& why) {
                        Say(Severity::kInfo, "returns_unwatched", why);
                      }}) {}

  absl::Status Run() {
    if (!spans_.status().ok()) return spans_.status();
    if (absl::Status served = ServeMetrics(); !served.ok()) return served;
    options_.lines ? MakeLinesPool() : MakeCommandPool();
    MakeHook();
    SayIfTimeoutIsLong();
    ClientOptions client_options = options_.place.client;
    client_options.observer = this;
    client_options.tracer = spans_.tracer();
    client_.emplace(loop_, std::move(client_options));
    absl::StatusOr<Consumer> consumer = Consume();
    if (!consumer.ok()) return InWordsOfFlags(consumer.status());
    consumer_ = *std::move(consumer);
    CheckRights();
    pool_->Start();
    WatchRunning();

    std::shared_ptr<void> drain =
        loop_.OnDrain([this](EventLoop::DrainDone done) { BeginStop(std::move(done)); });
    absl::Status status = loop_.RunUntilSignal(options_.grace);
    drain.reset();

    const bool complete = pool_->open() == 0;
    // Messages that are still running are requeued with their consumer.
    std::vector<Job> unsettled = pool_->StopNow();
    if (stopping_since_) Requeue(unsettled);
    consumer_.reset();
    SayGoodbye(loop_);
    client_.reset();
    if (complete && stopping_since_) FinishHook();
    return status;
  }

 private:
  void OnEvent(const Event& event) override {
    log_.OnEvent(event);
    if (metrics_) metrics_->OnEvent(event);
    if (event.handling) running_.Ended(*event.handling);
    if (hook_ && event.kind == EventKind::kParked) hook_->OnParked(event);
    if (event.kind == EventKind::kBreakerOpened) pool_->RequeueWaiting();
    returns_.OnEvent(event);
    if (event.kind == EventKind::kConsuming) CheckQueues();
  }

  // Runs once, because the queue exists now, and wrong settings usually exist from the start.
  void CheckQueues() {
    if (stopping_since_ || std::exchange(queues_checked_, true)) return;
    returns_.api().Look<absl::StatusOr<Findings>>(
        [this](const ManagementApi::Fetch& get) { return CheckQueuesOfAWorker(get, options_); },
        [this](const absl::StatusOr<Findings>& findings) { OnQueuesChecked(findings); });
  }

  void OnQueuesChecked(const absl::StatusOr<Findings>& findings) {
    if (stopping_since_) return;
    if (!findings.ok()) {
      Say(Severity::kInfo, "unchecked", std::string(findings.status().message()));
      if (options_.consumer.retry.on_limit == OnLimit::kReject) SayRisk(CheckRejectionUnseen());
      return;
    }
    for (const Finding& finding : *findings) SayRisk(finding);
  }

  void SayRisk(const Finding& finding) {
    Say(Severity::kWarning, "at_risk",
        absl::StrCat(finding.check, ": ", finding.finding, "; remedy: ", finding.remedy));
  }

  void OnReturns(const std::optional<ReturnTrouble>& trouble) {
    if (metrics_) metrics_->OnReturns(trouble);
    if (trouble) {
      Say(Severity::kError, "returns_blocked", trouble->why);
    } else {
      Say(Severity::kInfo, "returns_resumed", "");
    }
  }

  void OnState(Availability::State state, const std::string& why) {
    if (!consumer_ || stopping_since_) return;
    command_fails_ = state == Availability::State::kFails;
    PauseOrResume();
    if (command_fails_) {
      Say(Severity::kError, "paused",
          "COMMAND cannot be run and is tried again after a few seconds: " + why);
    } else if (state == Availability::State::kWorks) {
      Say(Severity::kInfo, "resumed", "");
    }
  }

  // Pools call this in the middle of their work, so it posts the rest to the loop.
  Availability::OnState StateCallback() {
    return [this](Availability::State state, const std::string& why) {
      loop_.executor()->Post([this, state, why] { OnState(state, why); });
    };
  }

  void BeginStop(EventLoop::DrainDone done) {
    stopping_since_ = loop_.clock().SinceBoot();
    if (metrics_) metrics_->BeginStop();
    Say(Severity::kInfo, "stopping", "");
    pool_->Stop(std::move(done));
  }

  // Before RabbitMQ 4.3 a message is requeued as a copy, and would exist twice if the consumer
  // ended before the confirm.
  void Requeue(std::vector<Job>& unsettled) {
    for (Job& job : unsettled) std::move(job.settlement).Settle(Outcome::Requeue());
    bool drained = false;
    consumer_->Drain(kRequeuePatience, [this, &drained](bool) {
      drained = true;
      loop_.Stop();
    });
    if (!drained) loop_.Run().IgnoreError();  // the status of the worker is known
  }

  absl::StatusOr<Consumer> Consume() {
    return client_->Consume(options_.consumer,
                            AsyncHandler([this](Delivery delivery, Settlement settlement) {
                              pool_->Handle(std::move(delivery), std::move(settlement));
                            }));
  }

  // Takes no messages until it is known that failed messages can be retried.
  void CheckRights() {
    rights_.emplace(loop_, options_, [this](const absl::Status& may) {
      if (!may.ok()) return loop_.Fail(may);
      rights_.reset();
      PauseOrResume();
    });
    PauseOrResume();
  }

  void PauseOrResume() {
    if (!consumer_ || stopping_since_) return;
    if (rights_ || command_fails_) {
      consumer_->Pause();
    } else {
      consumer_->Resume();
    }
  }

  CommandOptions CommandFor(std::vector<std::string> command) {
    return {.command = std::move(command),
            .timeout = options_.timeout,
            .max_attempts = options_.consumer.retry.max_attempts,
            .traceparent = options_.otlp.empty() ? nullptr : AttemptTraceparent,
            // With --json, stdout contains only events.
            .stdout_fd = options_.json ? STDERR_FILENO : STDOUT_FILENO,
            .errors = &errors_};
  }

  void MakeCommandPool() {
    pool_ = std::make_unique<CommandPool>(loop_, CommandFor(options_.command),
                                          static_cast<std::size_t>(options_.jobs), StateCallback());
  }

  void MakeLinesPool() {
    pool_ = std::make_unique<LinesPool>(
        loop_,
        LinesPool::Options{.command = CommandFor(options_.command),
                           .programs = static_cast<std::size_t>(options_.jobs),
                           .in_flight = static_cast<std::size_t>(*options_.lines)},
        LinesPool::Callbacks{
            .on_state = StateCallback(),
            .program_ended =
                [this](const std::string& why) {
                  if (metrics_) metrics_->OnProgramExit();
                  Say(Severity::kWarning, "child_ended", why);
                },
            .no_answer =
                [this](const std::string& remedy) { Say(Severity::kWarning, "no_answer", remedy); },
            .odd_answer =
                [this](const std::string& warning) {
                  Say(Severity::kWarning, "odd_answer", warning);
                }});
  }

  void MakeHook() {
    if (options_.on_parked.empty()) return;
    hook_.emplace(loop_, CommandFor({"/bin/sh", "-c", options_.on_parked}),
                  [this](const Delivery& parked, const std::string& id, const std::string& error) {
                    SayOf(parked, id, Severity::kError, "on_parked_failed", error);
                  });
  }

  // Commands for recently parked messages may run for the rest of the grace period.
  void FinishHook() {
    const absl::Duration left = options_.grace - (loop_.clock().SinceBoot() - *stopping_since_);
    if (!hook_ || hook_->unfinished() == 0 || left <= absl::ZeroDuration()) return;
    const std::shared_ptr<void> drain =
        loop_.OnDrain([this](EventLoop::DrainDone done) { hook_->WhenIdle(std::move(done)); });
    loop_.Drain();
    loop_.RunUntilSignal(left).IgnoreError();  // nothing is left that could fail
    if (const std::size_t count = hook_->unfinished(); count > 0) {
      Say(Severity::kError, "on_parked_failed",
          "the command did not finish for " + std::to_string(count) + " messages");
    }
  }

  absl::Status ServeMetrics() {
    if (!options_.metrics) return absl::OkStatus();
    metrics_.emplace(options_.consumer.queue, MetricLabels(options_));
    absl::StatusOr<std::unique_ptr<MetricsServer>> server =
        MetricsServer::Listen(loop_.base(), loop_, loop_.clock(), *options_.metrics,
                              {.metrics =
                                   [this] {
                                     LookAtPrograms();
                                     return metrics_->Text();
                                   },
                               .trouble =
                                   [this] {
                                     LookAtPrograms();
                                     return metrics_->Trouble();
                                   },
                               .cannot_accept =
                                   [this](const std::string& why) {
                                     Say(Severity::kWarning, "metrics_unreachable", why);
                                   },
                               .notice = [this] { return metrics_->Notice(); }});
    if (!server.ok()) {
      return absl::InvalidArgumentError("--metrics: " + std::string(server.status().message()));
    }
    metrics_server_ = *std::move(server);
    log_.Say(Severity::kInfo, "serving_metrics",
             {.kind = {}, .time = {}, .queue = options_.consumer.queue},
             {.url = metrics_server_->url()});
    return absl::OkStatus();
  }

  // Updates the metrics before a scrape.
  void LookAtPrograms() {
    if (pool_ == nullptr) return;
    const std::optional<OldestJob> oldest = pool_->Oldest();
    metrics_->OnPrograms(pool_->Trouble(),
                         oldest ? loop_.clock().SinceBoot() - oldest->begun : absl::ZeroDuration());
  }

  void WatchRunning() {
    watch_ = loop_.After(kLookEvery, [this] {
      const std::unique_ptr<Timer> fired = std::move(watch_);
      WatchRunning();
      const std::optional<OldestJob> oldest = pool_->Oldest();
      if (!oldest) return;
      if (const auto said = running_.Look(loop_.clock().SinceBoot(), oldest->begun)) {
        SayOf(oldest->delivery, oldest->delivery.id(), Severity::kWarning, "still_running", *said);
      }
    });
  }

  // The broker does not report its configured timeout, but its default is known.
  void SayIfTimeoutIsLong() {
    if (options_.timeout == absl::InfiniteDuration() || options_.timeout < kUsualConsumerTimeout ||
        options_.consumer.consumer_timeout > absl::ZeroDuration()) {
      return;
    }
    Say(Severity::kWarning, "timeout",
        "--timeout " + absl::FormatDuration(options_.timeout) +
            " is not less than RabbitMQ's consumer_timeout, which is 30m by default: unless it is "
            "longer on this broker, the broker requeues messages while COMMAND still runs; see "
            "--consumer-timeout");
  }

  void Say(Severity severity, std::string_view name, const std::string& error) {
    log_.Say(severity, name,
             {.kind = {}, .time = {}, .queue = options_.consumer.queue, .error = error});
  }

  void SayOf(const Delivery& delivery, std::string_view id, Severity severity,
             std::string_view name, const std::string& error) {
    log_.Say(severity, name,
             {.kind = {},
              .time = {},
              .queue = delivery.queue(),
              .id = id,
              .error = error,
              .delivery = &delivery});
  }

  const WorkOptions& options_;
  EventLoop loop_;
  const HeldSignals signals_{loop_, HeldSignals::Afterwards::kIgnored};
  OrphanReaper orphans_{loop_};
  Outlet errors_;                         // stderr
  const std::unique_ptr<Outlet> events_;  // stdout, with --json
  EventLog log_;
  SpanExport spans_;  // outlives the client and its messages
  std::optional<WorkMetrics> metrics_;
  std::unique_ptr<MetricsServer> metrics_server_;
  ReturnWatch returns_;
  std::unique_ptr<JobPool> pool_;
  std::optional<ParkedHook> hook_;
  std::optional<Client> client_;
  std::optional<Consumer> consumer_;
  std::optional<RightsCheck> rights_;  // while the permissions are checked
  bool queues_checked_ = false;
  bool command_fails_ = false;
  RunningWatch running_;
  std::unique_ptr<Timer> watch_;

  std::optional<absl::Duration> stopping_since_;  // since boot
};

}  // namespace

absl::Status Work(const WorkOptions& options) {
  // Before the first thread starts; all children inherit the environment.
  if (!options.pass_url) {
    for (const char* name : {"RETRYQ_URL", "RETRYQ_MANAGEMENT_URL"}) ::unsetenv(name);
  }
  return Worker(options).Run();
}

}  // namespace retryq::cli
