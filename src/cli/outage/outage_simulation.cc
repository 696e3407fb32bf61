#include "cli/outage/outage_simulation.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cli/outage/event_calendar.h"
#include "cli/outage/latency_histogram.h"
#include "cli/outage/queue_lifetimes.h"
#include "cli/outage/sample_series.h"
#include "retryq/backoff.h"
#include "retryq/breaker.h"
#include "retryq/delay_queue_declaration.h"
#include "retryq/random.h"

namespace retryq::cli {
namespace {

constexpr std::uint64_t kCallsBetweenProgress = 1'000'000;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

// Each seed produces one sequence.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : engine_(seed) {}

  std::uint64_t Next() override { return engine_(); }

  // Returns a number above 0, up to 1.
  double Part() { return (static_cast<double>(Next() >> 11) + 1) * 0x1p-53; }

 private:
  std::mt19937_64 engine_;
};

// The times of arriving messages, in microseconds.
class Arrivals {
 public:
  Arrivals(const OutageOptions& options, std::int64_t burst_at, SeededRandom& random)
      : rate_(options.rate),
        poisson_(options.poisson),
        burst_at_(burst_at),
        burst_left_(options.burst),
        random_(random) {
    Step();
  }

  // The next arrival.
  std::int64_t next() const { return burst_left_ > 0 ? std::min(steady_, burst_at_) : steady_; }

  void Take() {
    if (burst_left_ > 0 && burst_at_ <= steady_) {
      --burst_left_;
    } else {
      Step();
    }
  }

 private:
  void Step() {
    if (rate_ <= 0) return;
    seconds_ = poisson_ ? seconds_ - (std::log(random_.Part()) / rate_)
                        : static_cast<double>(count_++) / rate_;
    constexpr double kBeyondAllTime = 9e18;
    const double micros = seconds_ * 1e6;
    steady_ = micros < kBeyondAllTime ? std::llround(micros) : kNever;
  }

  const double rate_;
  const bool poisson_;
  const std::int64_t burst_at_;
  std::uint64_t burst_left_;
  SeededRandom& random_;
  std::uint64_t count_ = 0;
  double seconds_ = 0;
  std::int64_t steady_ = kNever;  // the next arrival at the steady rate
};

// The service that messages call, with an outage and a capacity.
class Downstream {
 public:
  enum class Answer { kOk, kFailed, kDown, kOverloaded };

  Downstream(const OutageOptions& options, std::int64_t down_from, std::int64_t down_until,
             SeededRandom& random)
      : down_from_(down_from),
        down_until_(down_until),
        capacity_(options.capacity),
        depth_(std::max(options.capacity, 1.0)),
        tokens_(depth_),
        error_rate_(options.error_rate),
        random_(random) {}

  Answer Call(std::int64_t now) {
    if (now >= down_from_ && now < down_until_) return Answer::kDown;
    if (!Admit(now)) return Answer::kOverloaded;
    // Draws a random number only if it is needed.
    const bool failed = error_rate_ > 0 && random_.Part() <= error_rate_;
    return failed ? Answer::kFailed : Answer::kOk;
  }

 private:
  bool Admit(std::int64_t now) {
    if (std::isinf(capacity_)) return true;
    // A rounding error must not cost a call.
    constexpr double kAlmostOne = 1 - 1e-6;
    tokens_ = std::min(depth_, tokens_ + (static_cast<double>(now - refilled_) * 1e-6 * capacity_));
    refilled_ = now;
    if (tokens_ < kAlmostOne) return false;
    tokens_ -= 1;
    return true;
  }

  const std::int64_t down_from_;
  const std::int64_t down_until_;
  const double capacity_;
  const double depth_;
  double tokens_;
  std::int64_t refilled_ = 0;
  const double error_rate_;
  SeededRandom& random_;
};

// A message and its next attempt.
struct Attempt {
  std::int64_t at = 0;              // microseconds
  std::int64_t arrived = 0;         // microseconds
  std::int64_t first_failure = 0;   // microseconds; set after the first failure
  std::int64_t previous_delay = 0;  // milliseconds
  std::uint32_t failures = 0;
  std::uint32_t number = 0;  // in the order of arrival
  bool affected = false;     // failed or delayed by the outage or the load after it

  std::int64_t time() const { return at; }
  // At the same time, in the order of arrival, as in a queue.
  friend bool operator>(const Attempt& a, const Attempt& b) {
    return a.at != b.at ? a.at > b.at : a.number > b.number;
  }
};

absl::Status TooLarge(const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(
      "--simulate: ", what, ": take a lower rate, a shorter outage or duration, or longer delays"));
}

absl::Status TooManyMessages(const SimulationLimits& limits) {
  return TooLarge(absl::StrCat("more than ", limits.messages, " messages"));
}

// The longest delay in use, also if delays do not grow up to their maximum.
absl::Duration LongestDelayInUse(const BackoffOptions& backoff) {
  if (!backoff.delays.empty()) return LongestDelay(backoff);
  return BackoffRange(backoff, std::numeric_limits<std::uint64_t>::max()).longest;
}

std::int64_t Micros(absl::Duration duration) { return absl::ToInt64Microseconds(duration); }

// The most calls per second by workers with a circuit breaker.
double SpeedOf(const OutageOptions& outage) {
  constexpr double kLeastSpeed = 100;
  return outage.speed.value_or(std::max(2 * outage.rate, kLeastSpeed));
}

// Workers of a queue with a circuit breaker: they take messages one after the other at a limited
// rate, and none while it is open. Times are microseconds.
class PacedWorkers {
 public:
  PacedWorkers(const BreakerOptions& breaker, double speed)
      : breaker_(breaker), between_calls_(1e6 / speed) {}

  void Add(const Attempt& attempt) { waiting_.push_back(attempt); }

  // Returns whether a message that arrives now waits behind the messages of the outage.
  bool IsBehind() const {
    return breaker_.state() != Breaker::State::kClosed || (has_opened_ && !waiting_.empty());
  }

  // Returns the time of the next call, not before `now`.
  std::int64_t NextCall(std::int64_t now) const {
    if (waiting_.empty()) return kNever;
    const absl::Duration pause = breaker_.PauseLeft(absl::Microseconds(now));
    return std::max({now + Micros(pause), now, static_cast<std::int64_t>(std::llround(free_at_))});
  }

  Attempt Take(std::int64_t now) {
    breaker_.TryAgain(absl::Microseconds(now));
    free_at_ = static_cast<double>(now) + between_calls_;
    Attempt attempt = waiting_.front();
    waiting_.pop_front();
    attempt.at = now;
    return attempt;
  }

  void OnCall(bool failed, std::int64_t now) {
    breaker_.OnCall(failed ? CallResult::kFailed : CallResult::kSucceeded, absl::Microseconds(now));
    has_opened_ = has_opened_ || breaker_.state() == Breaker::State::kOpen;
  }

 private:
  Breaker breaker_;
  const double between_calls_;
  double free_at_ = 0;
  bool has_opened_ = false;
  std::deque<Attempt> waiting_;  // in the work queue
};

absl::Duration BeginOf(const OutageOptions& outage) {
  return outage.start.value_or(absl::Ceil(outage.outage / 10, absl::Seconds(1)));
}

class Simulation {
 public:
  Simulation(const OutageOptions& outage, const RetryOptions& retry,
             const DelayQueueOptions& delay_queues, const SimulationLimits& limits)
      : retry_(retry),
        limits_(limits),
        begin_(BeginOf(outage)),
        end_of_outage_(begin_ + outage.outage),
        waits_for_recovery_(!outage.duration),
        end_(outage.duration.value_or(end_of_outage_ + 10 * outage.outage +
                                      2 * LongestDelayInUse(retry.backoff) + absl::Minutes(1))),
        random_(outage.seed),
        arrivals_(outage, Micros(begin_), random_),
        downstream_(outage, Micros(begin_), Micros(end_of_outage_), random_),
        queues_(DelayQueueTtls(retry, delay_queues), delay_queues) {
    if (outage.breaker) workers_.emplace(*outage.breaker, SpeedOf(outage));
  }

  absl::StatusOr<OutageReport> Run(const SimulationProgress& progress) {
    for (;;) {
      // kNever if no more events follow.
      const bool retry_is_next = !retries_.empty() && retries_.Top().at <= arrivals_.next();
      const std::int64_t next = retry_is_next ? retries_.Top().at : arrivals_.next();
      const std::int64_t call = workers_ ? workers_->NextCall(now_) : kNever;
      const bool call_is_next = call < next;
      const std::int64_t now = call_is_next ? call : next;
      if (now >= Micros(end_of_outage_)) LeaveOutage(now);
      if (now >= Micros(end_)) break;
      if (report_.calls == limits_.calls) {
        return TooLarge(absl::StrCat("more than ", limits_.calls, " calls"));
      }
      if (progress != nullptr && report_.calls % kCallsBetweenProgress == 0) {
        progress(absl::Microseconds(now), report_.calls);
      }
      now_ = now;
      if (call_is_next) {
        --report_.waiting;
        Call(workers_->Take(now));
      } else if (retry_is_next) {
        const Attempt attempt = retries_.Top();
        retries_.Pop();
        --report_.waiting;
        Deliver(attempt);
      } else {
        if (report_.arrived == limits_.messages) return TooManyMessages(limits_);
        arrivals_.Take();
        Deliver(
            {.at = now, .arrived = now, .number = static_cast<std::uint32_t>(report_.arrived++)});
      }
      series_.SetMessages(absl::Microseconds(now), report_.waiting, report_.parked);
    }
    return Report();
  }

 private:
  using Answer = Downstream::Answer;

  // The message is in the work queue: calls the downstream at once, or when a worker takes the
  // message.
  void Deliver(Attempt attempt) {
    if (!workers_) return Call(attempt);
    if (workers_->IsBehind()) MarkAffected(attempt);
    workers_->Add(attempt);
    report_.most_waiting = std::max(report_.most_waiting, ++report_.waiting);
  }

  void MarkAffected(Attempt& attempt) {
    if (attempt.affected) return;
    attempt.affected = true;
    ++affected_;
  }

  void Call(Attempt attempt) {
    const absl::Duration now = absl::Microseconds(attempt.at);
    const Answer answer = downstream_.Call(attempt.at);
    ++report_.calls;
    if (workers_) workers_->OnCall(answer != Answer::kOk, attempt.at);
    CountInSecond(now);
    series_.AddCall(now, answer != Answer::kOk);
    report_.most_attempts = std::max<std::uint64_t>(report_.most_attempts, attempt.failures + 1U);
    if (answer == Answer::kOk) {
      ++report_.handled;
      latencies_.Add(absl::Microseconds(attempt.at - attempt.arrived));
      Settle(attempt);
      return;
    }
    ++report_.failures;
    if (answer != Answer::kFailed) MarkAffected(attempt);
    if (attempt.failures == 0) attempt.first_failure = attempt.at;
    Retry(attempt);
  }

  void Retry(Attempt attempt) {
    const Failure failure{
        .failures = attempt.failures,
        .error = error_,
        .previous_delay = attempt.failures > 0
                              ? std::optional(absl::Milliseconds(attempt.previous_delay))
                              : std::nullopt,
        .age = absl::Microseconds(attempt.at - attempt.first_failure)};
    const std::optional<absl::Duration> delay = NextRetry(retry_, failure, random_);
    if (!delay) {
      ++report_.parked;
      Settle(attempt);
      return;
    }
    queues_.Use(absl::Microseconds(attempt.at), *delay);
    attempt.at += Micros(*delay);
    attempt.previous_delay = absl::ToInt64Milliseconds(*delay);
    ++attempt.failures;
    retries_.Push(attempt);
    report_.most_waiting = std::max(report_.most_waiting, ++report_.waiting);
  }

  // The message is handled or parked.
  void Settle(const Attempt& attempt) {
    if (!attempt.affected) return;
    --affected_;
    if (left_outage_ && affected_ == 0) Recover(attempt.at);
  }

  // Called before each event at the end of the outage or later.
  void LeaveOutage(std::int64_t now) {
    if (!left_outage_) report_.waiting_at_outage_end = report_.waiting;
    left_outage_ = true;
    // Events at exactly this time are handled first, as they may still be affected.
    if (now > Micros(end_of_outage_)) Recover(Micros(end_of_outage_));
  }

  // Records the first recovery, and ends the simulation soon afterwards.
  void Recover(std::int64_t now) {
    if (report_.recovery || affected_ > 0) return;
    const absl::Duration time = std::max(absl::Microseconds(now), end_of_outage_);
    report_.recovery = time - end_of_outage_;
    if (waits_for_recovery_) end_ = std::min(end_, time + std::max(time / 10, absl::Seconds(10)));
  }

  void CountInSecond(absl::Duration now) {
    const std::int64_t second = absl::ToInt64Seconds(now);
    if (second != second_) calls_in_second_ = 0;
    second_ = second;
    std::uint64_t& most = absl::Seconds(second) < end_of_outage_ ? report_.most_calls_until_end
                                                                 : report_.most_calls_after;
    most = std::max(most, ++calls_in_second_);
  }

  OutageReport Report() {
    report_.outage_begin = begin_;
    report_.outage_end = end_of_outage_;
    report_.end = end_;
    report_.samples = series_.Finish(end_);
    report_.interval = series_.interval();
    std::vector<absl::Duration> ends;
    for (const OutageReport::Sample& sample : report_.samples) {
      ends.push_back(std::min(sample.begin + report_.interval, end_));
    }
    const std::vector<std::uint64_t> delay_queues = queues_.Count(ends);
    for (std::size_t i = 0; i < delay_queues.size(); ++i) {
      report_.samples[i].delay_queues = delay_queues[i];
      report_.most_delay_queues = std::max(report_.most_delay_queues, delay_queues[i]);
    }
    report_.latency_p50 = latencies_.Quantile(0.5);
    report_.latency_p99 = latencies_.Quantile(0.99);
    report_.latency_max = latencies_.longest();
    return report_;
  }

  const RetryOptions& retry_;
  const SimulationLimits limits_;
  const absl::Duration begin_;
  const absl::Duration end_of_outage_;
  const bool waits_for_recovery_;
  absl::Duration end_;
  const absl::Status error_ = absl::UnavailableError("the downstream is down, or takes no more");

  SeededRandom random_;
  Arrivals arrivals_;
  Downstream downstream_;
  EventCalendar<Attempt> retries_;
  std::optional<PacedWorkers> workers_;  // not set: calls are made at once
  std::int64_t now_ = 0;                 // time of the last event
  QueueLifetimes queues_;
  SampleSeries series_;
  LatencyHistogram latencies_;

  OutageReport report_;
  std::uint64_t affected_ = 0;  // messages neither handled nor parked yet
  bool left_outage_ = false;
  std::int64_t second_ = 0;
  std::uint64_t calls_in_second_ = 0;
};

}  // namespace

absl::StatusOr<OutageReport> SimulateOutage(const OutageOptions& outage, const RetryOptions& retry,
                                            const DelayQueueOptions& delay_queues,
                                            const SimulationProgress& progress,
                                            const SimulationLimits& limits) {
  // Rejects a simulation at once that is certainly too large.
  const absl::Duration least = outage.duration.value_or(BeginOf(outage) + outage.outage);
  const double messages =
      outage.rate * absl::ToDoubleSeconds(least) + static_cast<double>(outage.burst);
  if (messages > static_cast<double>(limits.messages)) return TooManyMessages(limits);
  return Simulation(outage, retry, delay_queues, limits).Run(progress);
}

}  // namespace retryq::cli
