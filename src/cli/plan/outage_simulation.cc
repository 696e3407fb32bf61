#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <queue>
#include <random>
#include <set>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/plan/plan_command.h"
#include "retryq/backoff.h"
#include "retryq/broker/random.h"

namespace retryq::cli {
namespace {

// A time since the start of the simulation, in microseconds.
using Micros = std::int64_t;
constexpr Micros kSecond = 1'000'000;
constexpr Micros kNever = std::numeric_limits<Micros>::max();

Micros InMicros(absl::Duration duration) { return absl::ToInt64Microseconds(duration); }

// Random numbers that are the same in each run.
class SeededRandom final : public Random {
 public:
  std::uint64_t Next() override { return engine_(); }

 private:
  std::mt19937_64 engine_{1};
};

// A message and its next attempt.
struct Attempt {
  Micros at = 0;
  Micros arrived = 0;
  Micros first_failure = 0;         // set after the first failure
  std::int64_t previous_delay = 0;  // milliseconds
  std::uint32_t failures = 0;
  std::uint32_t number = 0;  // in the order of arrival
  bool affected = false;     // failed or delayed by the outage or the load after it

  // At the same time, in the order of arrival, as in a queue.
  friend bool operator>(const Attempt& a, const Attempt& b) {
    return a.at != b.at ? a.at > b.at : a.number > b.number;
  }
};

// The future attempts, up to millions of them. The attempts of one second are in a separate heap,
// which fits into a cache: this makes a large simulation four times as fast.
class Calendar {
 public:
  bool empty() const { return seconds_.empty(); }
  void push(const Attempt& attempt) { seconds_[attempt.at / kSecond].push(attempt); }
  const Attempt& top() const { return seconds_.begin()->second.top(); }
  void pop() {
    const auto first = seconds_.begin();
    first->second.pop();
    if (first->second.empty()) seconds_.erase(first);
  }

 private:
  using Heap = std::priority_queue<Attempt, std::vector<Attempt>, std::greater<>>;
  std::map<std::int64_t, Heap> seconds_;
};

// Parses a rate per second, minute or hour to one per second. Returns what is wrong like Convert.
template <typename Rate>
std::string ConvertRate(const std::string& text, bool may_be_zero, Rate* rate) {
  constexpr std::pair<std::string_view, double> kUnits[] = {{"/s", 1}, {"/m", 60}, {"/h", 3600}};
  for (const auto& [unit, seconds] : kUnits) {
    double number = 0;
    if (!text.ends_with(unit)) continue;
    if (!absl::SimpleAtod(text.substr(0, text.size() - unit.size()), &number)) break;
    number /= seconds;
    if (!(number > 0 || (may_be_zero && number == 0)) || number > 1e6) break;
    *rate = number;
    return "";
  }
  return absl::StrCat("write a rate ", may_be_zero ? "" : "above 0 and ",
                      "up to 1000000/s, such as 200/s, 30/m or 5000/h");
}

absl::Status TooLarge(std::uint64_t limit, const char* what) {
  return absl::InvalidArgumentError(
      absl::StrCat("--simulate: more than ", limit, " ", what,
                   "; set a lower rate, a shorter outage, or longer delays"));
}

// The longest delay in use, also if delays do not grow up to their maximum.
absl::Duration LongestDelayInUse(const BackoffOptions& backoff) {
  if (!backoff.delays.empty()) return LongestDelay(backoff);
  return BackoffRange(backoff, std::numeric_limits<std::uint64_t>::max()).longest;
}

class Simulation {
 public:
  Simulation(const OutageOptions& outage, const RetryOptions& retry,
             const std::optional<BreakerOptions>& breaker, const SimulationLimits& limits)
      : outage_(outage),
        retry_(retry),
        limits_(limits),
        begin_(InMicros(outage.begin())),
        end_of_outage_(InMicros(outage.end())),
        end_(end_of_outage_ + InMicros(10 * outage.outage + absl::Minutes(1) +
                                       2 * LongestDelayInUse(retry.backoff))) {
    constexpr std::int64_t kMostSamples = 8192;
    sample_seconds_ = end_ / kSecond / kMostSamples + 1;
    if (breaker) breaker_.emplace(*breaker);
    for (; numbered_ < outage.burst; ++numbered_) {
      retries_.push({.at = begin_, .arrived = begin_, .number = numbered_});
    }
    ScheduleArrival();
  }

  absl::StatusOr<OutageReport> Run() {
    for (;;) {
      const Micros retry = retries_.empty() ? kNever : retries_.top().at;
      const Micros call = NextCallOfWorkers();
      const Micros now = std::min({retry, call, next_arrival_});  // kNever: nothing follows
      if (now >= end_of_outage_) LeaveOutage(now);
      if (now >= end_) return Report();
      if (report_.calls == limits_.calls) return TooLarge(limits_.calls, "calls");
      if (report_.arrived > limits_.messages) return TooLarge(limits_.messages, "messages");
      BeginEvent(now);
      if (retry == now) {
        const Attempt attempt = retries_.top();
        retries_.pop();
        attempt.failures > 0 ? --report_.waiting : ++report_.arrived;  // 0: of the burst
        Deliver(attempt);
      } else if (next_arrival_ == now) {
        ScheduleArrival();
        ++report_.arrived;
        Deliver({.at = now, .arrived = now, .number = numbered_++});
      } else {
        Call(TakeFromWorkQueue());
      }
      Sample& sample = report_.samples.back();
      sample.waiting = std::max(sample.waiting, report_.waiting);
      sample.parked = report_.parked;
    }
  }

 private:
  using Sample = OutageReport::Sample;

  void BeginEvent(Micros now) {
    now_ = now;
    if (now / kSecond == second_) return;
    second_ = now / kSecond;
    calls_in_second_ = 0;
    failures_in_second_ = 0;
    report_.samples.resize(static_cast<std::size_t>(second_ / sample_seconds_) + 1,
                           {.waiting = report_.waiting, .parked = report_.parked});
  }

  // Determines the next arrival at the steady rate.
  void ScheduleArrival() {
    if (outage_.rate <= 0) return;
    const double seconds = static_cast<double>(count_++) / outage_.rate;
    constexpr double kBeyondAllTime = 9e12;
    next_arrival_ = seconds < kBeyondAllTime ? std::llround(seconds * 1e6) : kNever;
  }

  // The message is in the work queue: calls the downstream at once, or, with a breaker, when a
  // worker takes the message.
  void Deliver(Attempt attempt) {
    if (!breaker_) return Call(attempt);
    const bool behind =
        breaker_->state() != Breaker::State::kClosed || (has_opened_ && !work_queue_.empty());
    if (behind) MarkAffected(attempt);
    work_queue_.push_back(attempt);
    report_.most_waiting = std::max(report_.most_waiting, ++report_.waiting);
  }

  // Workers with a breaker take messages one after the other at a limited rate, and none while it
  // is open.
  Micros NextCallOfWorkers() const {
    if (work_queue_.empty()) return kNever;
    const absl::Duration pause = breaker_->PauseLeft(absl::Microseconds(now_));
    return std::max({now_ + InMicros(pause), now_, static_cast<Micros>(std::llround(free_at_))});
  }

  Attempt TakeFromWorkQueue() {
    breaker_->TryAgain(absl::Microseconds(now_));
    constexpr double kLeastSpeed = 100;
    const double speed = outage_.speed.value_or(std::max(2 * outage_.rate, kLeastSpeed));
    free_at_ = static_cast<double>(now_) + (1e6 / speed);
    const Attempt attempt = work_queue_.front();
    work_queue_.pop_front();
    --report_.waiting;
    return attempt;
  }

  void Call(Attempt attempt) {
    const bool failed = (now_ >= begin_ && now_ < end_of_outage_) || !Admit();
    CountCall(failed);
    report_.most_attempts = std::max<std::uint64_t>(report_.most_attempts, attempt.failures + 1U);
    if (breaker_) {
      breaker_->OnCall(failed ? CallResult::kFailed : CallResult::kSucceeded,
                       absl::Microseconds(now_));
      has_opened_ = has_opened_ || breaker_->state() == Breaker::State::kOpen;
    }
    if (failed) return Retry(attempt);
    ++report_.handled;
    latencies_.push_back(now_ - attempt.arrived);
    Settle(attempt);
  }

  // Returns whether the downstream has capacity for a call.
  bool Admit() {
    if (std::isinf(outage_.capacity)) return true;
    const double refill = static_cast<double>(now_ - refilled_) * 1e-6 * outage_.capacity;
    reserve_ = std::min(std::max(outage_.capacity, 1.0), reserve_ + refill);
    refilled_ = now_;
    // A rounding error must not lose a call.
    constexpr double kAlmostOne = 1 - 1e-6;
    if (reserve_ < kAlmostOne) return false;
    reserve_ -= 1;
    return true;
  }

  void CountCall(bool failed) {
    Sample& sample = report_.samples.back();
    ++report_.calls;
    ++sample.calls;
    sample.most_calls = std::max(sample.most_calls, ++calls_in_second_);
    std::uint64_t& most = second_ * kSecond < end_of_outage_ ? report_.most_calls_until_end
                                                             : report_.most_calls_after;
    most = std::max(most, calls_in_second_);
    if (!failed) return;
    ++report_.failures;
    ++sample.failures;
    sample.most_failures = std::max(sample.most_failures, ++failures_in_second_);
  }

  void Retry(Attempt attempt) {
    MarkAffected(attempt);
    const bool is_first = attempt.failures == 0;
    if (is_first) attempt.first_failure = now_;
    const Failure failure{
        .failures = attempt.failures,
        .error = error_,
        .previous_delay =
            is_first ? std::nullopt : std::optional(absl::Milliseconds(attempt.previous_delay)),
        .age = absl::Microseconds(now_ - attempt.first_failure)};
    const std::optional<absl::Duration> delay = NextRetry(retry_, failure, random_);
    if (!delay) {
      ++report_.parked;
      return Settle(attempt);
    }
    attempt.at = now_ + InMicros(*delay);
    attempt.previous_delay = absl::ToInt64Milliseconds(*delay);
    ++attempt.failures;
    retries_.push(attempt);
    report_.most_waiting = std::max(report_.most_waiting, ++report_.waiting);
  }

  void MarkAffected(Attempt& attempt) {
    if (!attempt.affected) ++affected_;
    attempt.affected = true;
  }

  // The message is handled or parked.
  void Settle(const Attempt& attempt) {
    if (attempt.affected && --affected_ == 0 && left_outage_) Recover(now_);
  }

  // Called before each event at the end of the outage or later.
  void LeaveOutage(Micros now) {
    if (!left_outage_) report_.waiting_at_outage_end = report_.waiting;
    left_outage_ = true;
    // Events at exactly this time are handled first, as they may still be affected.
    if (now > end_of_outage_ && affected_ == 0) Recover(end_of_outage_);
  }

  // Records the first recovery, and ends the simulation soon afterwards.
  void Recover(Micros now) {
    if (report_.recovery) return;
    report_.recovery = absl::Microseconds(now - end_of_outage_);
    end_ = std::min(end_, now + std::max(now / 10, 10 * kSecond));
  }

  OutageReport Report() {
    report_.end = absl::Microseconds(end_);
    // A simulation that ends at the start of a second does not include it.
    BeginEvent(std::max<Micros>(end_ - 1, 0));
    report_.interval = absl::Seconds(sample_seconds_);
    report_.latency_p50 = Latency(0.5);
    report_.latency_p99 = Latency(0.99);
    report_.latency_max = Latency(1);
    return std::move(report_);
  }

  // The latency that this fraction of all messages does not exceed; zero without latencies.
  absl::Duration Latency(double part) {
    if (latencies_.empty()) return absl::ZeroDuration();
    const double place = std::ceil(part * static_cast<double>(latencies_.size())) - 1;
    const auto nth = latencies_.begin() + static_cast<std::ptrdiff_t>(place);
    std::nth_element(latencies_.begin(), nth, latencies_.end());
    return absl::Microseconds(*nth);
  }

  const OutageOptions& outage_;
  const RetryOptions& retry_;
  const SimulationLimits limits_;
  const Micros begin_;
  const Micros end_of_outage_;
  Micros end_;
  std::int64_t sample_seconds_ = 1;  // the length of a sample
  const absl::Status error_ = absl::UnavailableError("the downstream is down or overloaded");
  SeededRandom random_;

  // Arrivals.
  Micros next_arrival_ = kNever;
  std::uint64_t count_ = 0;     // at the steady rate
  std::uint32_t numbered_ = 0;  // messages

  // Messages in delay queues, and messages of the burst that have not arrived.
  Calendar retries_;

  // Workers with a breaker.
  std::optional<Breaker> breaker_;  // not set: each message calls the downstream as it arrives
  std::deque<Attempt> work_queue_;
  double free_at_ = 0;
  bool has_opened_ = false;

  // The downstream's calls that are left of its capacity.
  double reserve_ = std::numeric_limits<double>::infinity();
  Micros refilled_ = 0;

  Micros now_ = 0;              // time of the current event
  std::uint64_t affected_ = 0;  // messages neither handled nor parked yet
  bool left_outage_ = false;

  OutageReport report_;
  std::vector<Micros> latencies_;  // of the handled messages
  std::int64_t second_ = -1;
  std::uint64_t calls_in_second_ = 0;
  std::uint64_t failures_in_second_ = 0;
};

}  // namespace

OutageOptions ReadSimulate(const std::string& text, FlagReader& reader) {
  OutageOptions options;
  std::set<std::string> given;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::pair<std::string, std::string> setting =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    const auto& [key, value] = setting;
    const std::string flag = "--simulate " + key;
    if (key == "outage") {
      reader.Refuse(flag, value, Convert(value, &options.outage));
    } else if (key == "burst") {
      reader.Refuse(flag, value,
                    ConvertNumber(value, 0, SimulationLimits().messages, &options.burst));
    } else if (key == "rate") {
      reader.Refuse(flag, value, ConvertRate(value, /*may_be_zero=*/true, &options.rate));
    } else if (key == "capacity") {
      reader.Refuse(flag, value, ConvertRate(value, /*may_be_zero=*/false, &options.capacity));
    } else if (key == "speed") {
      reader.Refuse(flag, value, ConvertRate(value, /*may_be_zero=*/false, &options.speed));
    } else {
      reader.Complain(absl::StrCat("--simulate: unknown key \"", key,
                                   "\"; write KEY=VALUE with commas between; keys: outage, rate, "
                                   "burst, capacity, speed"));
    }
    if (!given.insert(key).second) {
      reader.Complain(flag + ": is given more than once; give it once");
    }
  }
  if (!reader.status().ok()) return options;
  if (!given.contains("outage")) {
    reader.Complain("--simulate: the length of the outage is missing; add outage=10m");
  }
  if (options.rate <= 0 && options.burst == 0) {
    reader.Complain("--simulate: no message arrives; add rate=200/s or burst=10000");
  }
  return options;
}

absl::StatusOr<OutageReport> SimulateOutage(const OutageOptions& outage, const RetryOptions& retry,
                                            const std::optional<BreakerOptions>& breaker,
                                            const SimulationLimits& limits) {
  // Immediately rejects a simulation that is certainly too large.
  const double messages =
      outage.rate * absl::ToDoubleSeconds(outage.end()) + static_cast<double>(outage.burst);
  if (messages > static_cast<double>(limits.messages)) {
    return TooLarge(limits.messages, "messages");
  }
  return Simulation(outage, retry, breaker, limits).Run();
}

}  // namespace retryq::cli
