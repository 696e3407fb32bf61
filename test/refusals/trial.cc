#include "refusals/trial.h"

#include <event2/event.h>

#include <cstdio>

#include "loop/libevent_ptr.h"
#include "refusals/idle_time.h"
#include "refusals/server.h"
#include "retryq/client.h"
#include "support/test.h"

namespace retryq::refusals {
namespace {

// Between messages for each queue.
constexpr absl::Duration kTick = absl::Seconds(5);
// Only this number of the program's publishes is refused: each may close the connection twice.
constexpr int kTicksPerRefusedPublish = 6;
constexpr absl::Duration kWarmUp = absl::Seconds(20);

class Trial final : private Observer {
 public:
  Trial(Request request, Way way)
      : request_(request),
        way_(way),
        base_(event_base_new()),
        loop_(EventLoop::Borrow(base_.get())),
        server_(loop_) {}

  void Start(Beginning beginning) {
    if (beginning == Beginning::kAtStart) BeginTrouble();
    ClientOptions options;
    options.url = absl::StrCat("amqp://guest:guest@127.0.0.1:", server_.port(), "/");
    options.observer = this;
    client_.emplace(loop_, options);
    refused_.emplace(Consume("refused", absl::Seconds(10)));
    other_.emplace(Consume("other", absl::Seconds(20)));
    Tick();
    if (beginning == Beginning::kAtStart) return;
    RunFor(kWarmUp);
    BeginTrouble();
  }

  void BeginTrouble() {
    server_.Refuse(request_, way_);
    server_.HangUpOnAll();
    is_in_trouble_ = true;
    server_.TakeAttempts();
    lines_ = 0;
  }

  void EndTrouble() {
    is_in_trouble_ = false;
    if (refused_) refused_->Resume();
    server_.Relent();
  }

  // Returns false if the program has ended by itself.
  bool RunFor(absl::Duration time) {
    const std::unique_ptr<Timer> end = loop_.After(time, [this] { loop_.Stop(); });
    if (failure_.ok()) failure_ = loop_.Run();
    return failure_.ok();
  }

  // The same as SIGTERM does.
  absl::Duration Stop() {
    const absl::Duration begin = time_.passed();
    loop_.Drain();
    failure_ = loop_.Run();
    return time_.passed() - begin;
  }

  Server& server() { return server_; }
  const absl::Status& failure() const { return failure_; }
  absl::Duration now() const { return time_.passed(); }
  int TakeLines() { return std::exchange(lines_, 0); }
  int published(const std::string& queue) { return published_[queue]; }

 private:
  void OnEvent(const Event& event) override {
    if (SeverityOf(event.kind) >= Severity::kInfo) ++lines_;
    static const bool prints = std::getenv("RETRYQ_REFUSALS_EVENTS") != nullptr;  // NOLINT
    if (!prints) return;
    std::printf("%10.3f %s %s %s %s\n", absl::ToDoubleSeconds(time_.passed()),
                std::string(EventName(event.kind)).c_str(), std::string(event.queue).c_str(),
                std::string(event.id).c_str(), std::string(event.error).c_str());
  }

  // Every second message of the other queue succeeds.
  Consumer Consume(const std::string& queue, absl::Duration delay) {
    ConsumerOptions options;
    options.queue = queue;
    options.prefetch = queue == "refused" ? Server::kRefusedPrefetch : 8;
    options.retry.backoff = {.base = delay, .factor = 1.0};
    return *client_->Consume(options, [this, queue](const Delivery&) -> Outcome {
      if (queue == "other" && ++others_ % 2 == 0) return Outcome::Ok();
      return absl::UnavailableError("not now");
    });
  }

  void Tick() {
    server_.SendHeartbeats();
    for (const char* queue : {"refused", "other"}) {
      server_.AddMessage(queue);
      if (queue == std::string("refused") && ticks_++ % kTicksPerRefusedPublish != 0) continue;
      client_->Publish({.routing_key = queue}, {}, [this, queue](const absl::Status& status) {
        if (status.ok()) ++published_[queue];
      });
    }
    if (is_in_trouble_ && request_ == Request::kCancel) {
      refused_->Pause();
      again_ = loop_.After(kTick / 2, [this] { refused_->Resume(); });
    }
    if (is_in_trouble_ && request_ == Request::kClose) {
      refused_.reset();
      refused_.emplace(Consume("refused", absl::Seconds(10)));
    }
    tick_ = loop_.After(kTick, [this] { Tick(); });
  }

  const IdleTime time_;
  const Request request_;
  const Way way_;
  const EventBasePtr base_;
  EventLoop loop_;
  Server server_;
  std::optional<Client> client_;
  std::optional<Consumer> refused_;
  std::optional<Consumer> other_;
  std::unique_ptr<Timer> tick_;
  std::unique_ptr<Timer> again_;
  bool is_in_trouble_ = false;
  absl::Status failure_;
  int lines_ = 0;
  int others_ = 0;
  int ticks_ = 0;
  std::map<std::string, int> published_;
};

// Two more messages done, and one more published.
absl::Duration Recovery(Trial& trial) {
  const absl::Duration begin = trial.now();
  const int acked = trial.server().acked("refused");
  const int published = trial.published("refused");
  while (trial.now() - begin < kLongestRecovery) {
    if (!trial.RunFor(absl::Seconds(1))) break;
    if (trial.server().acked("refused") >= acked + 2 &&
        trial.published("refused") >= published + 1) {
      return trial.now() - begin;
    }
  }
  return absl::InfiniteDuration();
}

}  // namespace

Figures TryTo(Request request, Way way, Beginning beginning, int minutes) {
  Trial trial(request, way);
  trial.Start(beginning);
  constexpr int kMany = std::numeric_limits<int>::max();
  Figures figures = {.other_acks = kMany, .other_publishes = kMany};
  for (int minute = 0; minute < minutes; ++minute) {
    const int acked = trial.server().acked("other");
    const int published = trial.published("other");
    const bool goes_on = trial.RunFor(absl::Minutes(1));
    figures.attempts = std::max(figures.attempts, trial.server().TakeAttempts());
    figures.lines = std::max(figures.lines, trial.TakeLines());
    if (!goes_on) break;
    figures.other_acks = std::min(figures.other_acks, trial.server().acked("other") - acked);
    figures.other_publishes =
        std::min(figures.other_publishes, trial.published("other") - published);
  }
  figures.failure = trial.failure();
  if (!figures.failure.ok()) return figures;
  trial.EndTrouble();
  figures.recovery = Recovery(trial);
  figures.stop = trial.Stop();
  figures.failure = trial.failure();
  return figures;
}

absl::Duration TimeOfStop(Request request, Way way, Beginning beginning, absl::Duration after) {
  Trial trial(request, way);
  trial.Start(beginning);
  return trial.RunFor(after) ? trial.Stop() : absl::ZeroDuration();
}

}  // namespace retryq::refusals
