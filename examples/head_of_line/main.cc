// Why one retry queue with a TTL per message is not enough: RabbitMQ looks at a queue's head only,
// so that the longest delay holds up all behind it. The same mixed delays go through such a queue
// and through retryq, side by side.
//
//   head_of_line [SVG]      on the broker that RETRYQ_URL names; writes the image to SVG
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "head_of_line/lateness.h"
#include "retryq/amqp/connection_options.h"
#include "retryq/amqp/make_broker.h"
#include "retryq/retryq.h"

namespace {

using head_of_line::Arrival;
using head_of_line::Series;

constexpr std::size_t kMessages = 400;
constexpr absl::Duration kEvery = absl::Milliseconds(25);  // a message by each way
constexpr absl::Duration kPatience = absl::Seconds(50);

constexpr char kWaiting[] = "head_of_line.waiting";  // the one queue
constexpr char kBack[] = "head_of_line.back";        // what has waited there
constexpr char kWork[] = "head_of_line.work";        // retryq's work queue

// The delays, the same in each run: from 0.1 to 8 s, the shorter the more often.
std::vector<absl::Duration> Delays() {
  std::minstd_rand random(7);
  std::vector<absl::Duration> delays;
  for (std::size_t i = 0; i < kMessages; ++i) {
    const double part = static_cast<double>(random()) / std::minstd_rand::max();
    delays.push_back(absl::Milliseconds(std::lround(100 * std::pow(80, part))));
  }
  return delays;
}

// What one way does with its messages: numbers, which say what delay they are to have.
class Way {
 public:
  Way(std::string name, std::string color)
      : delays_(Delays()), sent_(kMessages), series_{std::move(name), std::move(color), {}} {}

  absl::Duration delay(std::size_t number) const { return delays_[number]; }
  // From now on its delay counts.
  void Sent(std::size_t number) { sent_[number] = absl::Now(); }
  void Back(std::size_t number) {
    const absl::Time due = sent_[number] + delays_[number];
    series_.arrivals.push_back({sent_[number] - start_, absl::Now() - due});
  }
  bool done() const { return series_.arrivals.size() == kMessages; }
  const Series& series() const { return series_; }

 private:
  const std::vector<absl::Duration> delays_;
  const absl::Time start_ = absl::Now();
  std::vector<absl::Time> sent_;
  Series series_;
};

// One queue for all delays: each message with a TTL of its own.
class OneQueue : private retryq::SubscriptionListener, private retryq::BrokerListener {
 public:
  OneQueue(retryq::EventLoop& loop, const retryq::amqp::ConnectionOptions& connection)
      : broker_(retryq::amqp::MakeBroker(loop, connection)) {
    broker_->SetListener(this);
  }
  ~OneQueue() override { broker_->SetListener(nullptr); }

  bool ready() const { return ready_; }
  Way& way() { return way_; }

  void Send(std::size_t number) {
    const std::string expiration = absl::StrCat(absl::ToInt64Milliseconds(way_.delay(number)));
    const std::string body = absl::StrCat(number);
    retryq::PublishParams message{.exchange = "", .routing_key = kWaiting, .body = body};
    message.properties.expiration = expiration;
    way_.Sent(number);
    broker_->Publish(message, [](const retryq::PublishResult&) {});
  }

 private:
  void OnReady() override {
    const retryq::amqp::Table waiting = {{"x-queue-type", "classic"},
                                         {"x-dead-letter-exchange", ""},
                                         {"x-dead-letter-routing-key", kBack},
                                         {"x-expires", std::int64_t{300'000}}};
    const retryq::amqp::Table others = {{"x-queue-type", "classic"},
                                        {"x-expires", std::int64_t{300'000}}};
    Declare(kWaiting, waiting, [this, others] {
      Declare(kBack, others, [this, others] {
        Declare(kWork, others,
                [this] { subscription_ = broker_->Consume({.queue = kBack}, this); });
      });
    });
  }
  void OnLost(const absl::Status& why) override { std::cerr << why << '\n'; }
  void OnBlocked(bool /*blocked*/, std::string_view /*reason*/) override {}

  void Declare(const std::string& name, const retryq::amqp::Table& arguments,
               std::function<void()> then) {
    broker_->Declare({.queue = {.name = name, .arguments = arguments}},
                     [then = std::move(then)](const absl::StatusOr<retryq::DeclareOk>& answer) {
                       if (answer.ok()) return then();
                       std::cerr << answer.status() << '\n';
                     });
  }

  void OnSubscribed() override { ready_ = true; }
  void OnDelivery(retryq::amqp::MessagePtr message) override {
    std::size_t number = 0;
    if (absl::SimpleAtoi(std::string(message->body), &number) && number < kMessages) {
      way_.Back(number);
    }
    broker_->Ack(message->delivery_tag);
  }
  void OnInterrupted(const absl::Status& why) override { std::cerr << why << '\n'; }

  Way way_{"one queue, TTL per message", "#d33"};
  bool ready_ = false;
  const std::unique_ptr<retryq::Broker> broker_;
  std::unique_ptr<retryq::Subscription> subscription_;
};

// The delay is what the handler asks for.
retryq::Outcome Handle(const retryq::Delivery& delivery, Way& way) {
  std::size_t number = 0;
  if (!absl::SimpleAtoi(std::string(delivery.body()), &number) || number >= kMessages) {
    return retryq::Outcome::Discard("not of this run");
  }
  if (delivery.attempt() > 0) {
    way.Back(number);
    return retryq::Outcome::Ok();
  }
  way.Sent(number);
  return retryq::Outcome::RetryAfter(way.delay(number), absl::UnavailableError("not yet"));
}

int Fail(const absl::Status& status) {
  std::cerr << "head_of_line: " << status << '\n';
  return retryq::ExitCode(status);
}

void Print(const Series& series) {
  const auto text = [&series](double part) {
    return absl::StrFormat("%8.3f", absl::ToDoubleSeconds(head_of_line::Quantile(series, part)));
  };
  std::cout << absl::StrFormat("%-28s", series.name) << text(0.5) << text(0.99) << text(1) << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  const char* variable = std::getenv("RETRYQ_URL");
  const std::string url = variable != nullptr ? variable : "amqp://localhost";
  const auto connection = retryq::amqp::ParseUri(url);
  if (!connection.ok()) return Fail(connection.status());

  retryq::EventLoop loop;
  Way retryq_way("retryq", "#27c");
  OneQueue one_queue(loop, *connection);
  retryq::Client client(loop, {.url = url});
  const absl::Time start = absl::Now();
  std::optional<retryq::Consumer> consumer;
  absl::Status failure;
  std::size_t sent = 0;
  std::unique_ptr<retryq::Timer> timer;
  const std::function<void()> step = [&] {
    timer = loop.After(kEvery, step);
    if (absl::Now() - start > kPatience) {
      failure = absl::DeadlineExceededError("not all messages came back in time");
      loop.Stop();
    } else if (one_queue.way().done() && retryq_way.done()) {
      loop.Stop();
    } else if (one_queue.ready() && !consumer) {
      auto started = client.Consume(
          {.queue = kWork, .prefetch = 1000},
          [&](const retryq::Delivery& delivery) { return Handle(delivery, retryq_way); });
      if (started.ok()) {
        consumer = *std::move(started);
      } else {
        failure = started.status();
        loop.Stop();
      }
    } else if (consumer && sent < kMessages) {
      one_queue.Send(sent);
      client.Publish({.routing_key = kWork, .body = absl::StrCat(sent)}, {.deadline = kPatience},
                     [](const absl::Status&) {});
      ++sent;
    }
  };
  timer = loop.After(absl::ZeroDuration(), step);
  if (absl::Status end = loop.Run(); !end.ok()) return Fail(end);
  if (!failure.ok()) return Fail(failure);

  std::cout << kMessages << " messages with delays from 0.1 to 8 s; seconds late:\n"
            << absl::StrFormat("%-28s%8s%8s%8s\n", "", "p50", "p99", "most");
  Print(one_queue.way().series());
  Print(retryq_way.series());
  if (argc > 1) {
    std::ofstream file(argv[1]);
    file << head_of_line::Svg({one_queue.way().series(), retryq_way.series()});
    if (!file) return Fail(absl::InternalError(absl::StrCat("cannot write ", argv[1])));
    std::cout << "plotted to " << argv[1] << '\n';
  }
  return EXIT_SUCCESS;
}
