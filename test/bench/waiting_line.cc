// Many messages that wait at once: the memory and disk of the broker, and how late they return.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "bench/baselines/workload.h"
#include "bench/line.h"
#include "bench/program.h"
#include "retryq/retryq.h"
#include "support/management.h"
#include "support/peer.h"
#include "support/standard.h"
#include "support/test_vhost.h"

namespace retryq::bench {
namespace {

constexpr char kQueue[] = "work";
constexpr std::size_t kBodySize = 256;
// Open publishes. Each delayed publish checks its queue on a channel of its own, and a connection
// has 2 047 channels.
constexpr std::size_t kOpen = 500;
// Messages per second. The delay is as long as publishing takes at this rate, so that all messages
// wait at once.
constexpr std::size_t kLeastRate = 1'000;
constexpr absl::Duration kLeastDelay = absl::Seconds(45);
constexpr absl::Duration kPatience = absl::Minutes(10);   // beyond the delay
constexpr absl::Duration kStatistics = absl::Seconds(6);  // after which the broker shows its memory
constexpr absl::Duration kPoll = absl::Milliseconds(200);
constexpr double kMebibyte = 1 << 20;

// Of the broker, in MiB.
struct Taken {
  double memory;
  double disk;
};

// The disk space is that of the private broker's data; zero for another broker.
Taken Take(const testing::Management& management) {
  const double memory = management.Get("/nodes").value().at(0).at("mem_used");
  double disk = 0;
  if (const char* broker = std::getenv("RETRYQ_BROKER")) {
    std::error_code gone;  // files that vanish meanwhile
    const std::filesystem::recursive_directory_iterator files(std::string(broker) + "/data", gone);
    for (const auto& file : files) {
      if (!file.is_regular_file(gone)) continue;
      const std::uintmax_t size = file.file_size(gone);
      if (!gone) disk += static_cast<double>(size);
    }
  }
  return {.memory = memory / kMebibyte, .disk = disk / kMebibyte};
}

// Publishes messages with the delay, and counts them when they return.
class Crowd {
 public:
  Crowd(EventLoop& loop, const std::string& url, std::size_t messages)
      : loop_(loop),
        messages_(messages),
        delay_(std::max(kLeastDelay, absl::Seconds(messages / kLeastRate))),
        client_(loop, {.url = url}),
        consumer_(client_.Consume({.queue = kQueue,
                                   // The delay is part of the policy, so it has an exact queue.
                                   .retry = {.backoff = {.delays = {delay_}}},
                                   .prefetch = kPrefetch},
                                  [this](const Delivery&) { return Handle(); })) {
    if (!consumer_.ok()) throw std::runtime_error(consumer_.status().ToString());
  }

  // Publishes all messages. Returns how many were published per second.
  double Publish() {
    const absl::Time begin = absl::Now();
    for (std::size_t i = 0; i < std::min(kOpen, messages_); ++i) PublishOne();
    Run(confirmed_);
    const absl::Time end = absl::Now();
    if (handled_ > 0)
      throw std::runtime_error("the first were back before the last were published");
    return static_cast<double>(messages_) / absl::ToDoubleSeconds(end - begin);
  }

  // Runs until all messages are back. Returns how late the last one was, in seconds.
  double Drain() {
    Run(handled_);
    return absl::ToDoubleSeconds(absl::Now() - last_sent_ - delay_);
  }

 private:
  void PublishOne() {
    if (sent_ == messages_) return;
    ++sent_;
    last_sent_ = absl::Now();
    client_.Publish({.routing_key = kQueue, .body = std::string(kBodySize, 'x')},
                    {.delay = delay_, .deadline = kPatience}, [this](const absl::Status& status) {
                      if (!status.ok()) loop_.Fail(status);
                      if (++confirmed_ == messages_) loop_.Stop();
                      PublishOne();
                    });
  }
  Outcome Handle() {
    if (++handled_ == messages_) loop_.Stop();
    return Outcome::Ok();
  }

  // Runs until `count` has reached the number of messages. Throws std::runtime_error if it does not
  // in time.
  void Run(const std::size_t& count) {
    const absl::Time deadline = absl::Now() + delay_ + kPatience;
    while (count < messages_) {
      CheckInterrupted();
      if (absl::Now() > deadline) throw std::runtime_error("not all messages came in time");
      const std::unique_ptr<Timer> look = loop_.After(kPoll, [this] { loop_.Stop(); });
      if (const absl::Status end = loop_.Run(); !end.ok()) {
        throw std::runtime_error(end.ToString());
      }
    }
  }

  EventLoop& loop_;
  const std::size_t messages_;
  const absl::Duration delay_;
  std::size_t sent_ = 0;
  std::size_t confirmed_ = 0;
  std::size_t handled_ = 0;
  absl::Time last_sent_;
  Client client_;
  absl::StatusOr<Consumer> consumer_;
};

std::vector<double> Measure(Side, const Setup& setup) {
  const testing::TestVhost vhost;
  testing::Peer(vhost.Url()).DeclareQueue(kQueue);
  absl::SleepFor(kStatistics);
  const Taken before = Take(vhost.management());
  EventLoop loop;
  Crowd crowd(loop, vhost.Url(), setup.waiting);
  const double rate = crowd.Publish();
  absl::SleepFor(kStatistics);
  const Taken waiting = Take(vhost.management());
  return {rate, waiting.memory - before.memory, waiting.disk - before.disk, crowd.Drain()};
}

}  // namespace

std::vector<Line> WaitingLine() {
  constexpr Comparison kNone = Comparison::kNone;
  return {{.name = "waiting",
           .title = "--waiting messages in one delay queue",
           .metrics = {{.name = "published", .unit = "a second", .comparison = kNone},
                       {.name = "broker memory", .unit = "MiB", .comparison = kNone},
                       {.name = "broker disk", .unit = "MiB", .comparison = kNone},
                       {.name = "lateness of the last one", .unit = "s", .comparison = kNone}},
           .measure = Measure,
           .is_extra = true}};
}

}  // namespace retryq::bench
