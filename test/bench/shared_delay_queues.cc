// Retries per second of one client, by the number of work queues that share the delay queues.

#include "bench/line.h"
#include "retryq/retryq.h"
#include "support/peer.h"
#include "support/standard.h"
#include "support/test_vhost.h"

namespace retryq::bench {
namespace {

constexpr std::size_t kUnacked = 1'000;     // of all consumers together, unless that is less than
constexpr std::size_t kLeastPrefetch = 20;  // for each
constexpr absl::Duration kPatience = absl::Minutes(3);

// Keeps deliveries until all consumers consume, because starting a thousand consumers takes
// seconds. Then lets all deliveries fail, and stops the loop after the last retry.
class Failing final : public Observer {
 public:
  Failing(EventLoop& loop, std::size_t consumers, std::size_t messages)
      : loop_(loop), awaited_(consumers), messages_(messages) {}

  void OnEvent(const Event& event) override {
    if (event.kind == EventKind::kConsuming && --awaited_ == 0)
      loop_.executor()->Post([this] { Begin(); });
    if (event.kind == EventKind::kRetried && ++retried_ == messages_) loop_.Stop();
  }
  void Handle(Settlement settlement) {
    if (begin_) {
      Fail(std::move(settlement));
    } else {
      kept_.push_back(std::move(settlement));
    }
  }

  // Throws std::runtime_error if not all messages were retried in time.
  double RetriesPerSecond() const {
    if (retried_ < messages_) throw std::runtime_error("not all messages were retried in time");
    return static_cast<double>(messages_) / absl::ToDoubleSeconds(absl::Now() - *begin_);
  }

 private:
  static void Fail(Settlement settlement) {
    std::move(settlement).Settle(absl::UnavailableError("not yet"));
  }
  void Begin() {
    begin_ = absl::Now();
    for (Settlement& settlement : std::exchange(kept_, {})) Fail(std::move(settlement));
  }

  EventLoop& loop_;
  std::size_t awaited_;
  const std::size_t messages_;
  std::vector<Settlement> kept_;
  std::optional<absl::Time> begin_;
  std::size_t retried_ = 0;
};

// Returns the retries per second: messages of 256 bytes, spread evenly over the work queues, fail
// once each, with the same delay.
double Measure(std::size_t queues, std::size_t messages) {
  testing::TestVhost vhost;
  testing::Peer peer(vhost.Url());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < queues; ++i) {
    names.push_back("work." + std::to_string(i));
    peer.DeclareQueue(names.back());
  }
  const std::string body(256, 'x');
  for (std::size_t i = 0; i < messages; ++i) peer.Send("", names[i % queues], body);
  peer.AwaitConfirms();

  EventLoop loop;
  Failing failing(loop, queues, messages);
  Client client(loop, {.url = vhost.Url(), .observer = &failing});
  std::vector<Consumer> consumers;
  for (const std::string& name : names) {
    auto consumer = client.Consume(
        {.queue = name,
         .retry = {.backoff = {.base = absl::Hours(1), .max = absl::Hours(1)}},
         .prefetch = static_cast<std::uint16_t>(std::max(kLeastPrefetch, kUnacked / queues))},
        [&failing](const Delivery&, Settlement settlement) {
          failing.Handle(std::move(settlement));
        });
    if (!consumer.ok()) throw std::runtime_error(consumer.status().ToString());
    consumers.push_back(*std::move(consumer));
  }
  const std::unique_ptr<Timer> deadline = loop.After(kPatience, [&loop] { loop.Stop(); });
  const absl::Status end = loop.Run();
  if (!end.ok()) throw std::runtime_error(end.ToString());
  return failing.RetriesPerSecond();
}

}  // namespace

std::vector<Line> SharedDelayQueues() {
  std::vector<Line> lines;
  for (const std::size_t queues : {1U, 64U, 1000U}) {
    lines.push_back(
        {.name = absl::StrCat("queues-", queues),
         .title = absl::StrCat("work queues that share delay queues, ", queues),
         .metrics = {{.name = "retries", .unit = "a second", .comparison = Comparison::kNone}},
         .measure = [queues](Side, const Setup& setup) -> std::vector<double> {
           return {Measure(queues, setup.messages)};
         }});
  }
  return lines;
}

}  // namespace retryq::bench
