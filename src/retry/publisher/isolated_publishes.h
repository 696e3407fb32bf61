#ifndef RETRYQ_SRC_RETRY_PUBLISHER_ISOLATED_PUBLISHES_H_
#define RETRYQ_SRC_RETRY_PUBLISHER_ISOLATED_PUBLISHES_H_

#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "retryq/broker/retrier.h"

namespace retryq {

// Which publishes are isolated: published one at a time, while nothing else is open.
//
// If the broker closes a channel, any publish that is open on it may be the cause, so all of them
// are isolated. The cause is the publish that is alone on its channel when the channel is closed.
// It is isolated again whenever it is sent again. If it then makes the broker close the connection
// each time, growing pauses separate all such publishes, so that all other publishes continue,
// however many causes there are.
class IsolatedPublishes {
 public:
  // `environment` must outlive it.
  explicit IsolatedPublishes(const Environment& environment) : environment_(environment) {}

  // While there are any, only the current one may be published.
  bool MayPublish(std::uint32_t index) const { return count_ == 0 || current_ == index; }
  bool empty() const { return count_ == 0; }
  void Add() { ++count_; }
  void Remove() { --count_; }

  bool has_current() const { return current_.has_value(); }
  bool IsCurrent(std::uint32_t index) const { return current_ == index; }
  void Begin(std::uint32_t index) { current_ = index; }
  // Does nothing if another publish is current.
  void End(std::uint32_t index) {
    if (current_ == index) current_.reset();
  }

  // Returns the time until a publish that has been the cause before may be published again. Each
  // such publish has its own turn, and others can be published meanwhile.
  absl::Duration TimeToTurn();

  // Call it when such a publish has made the broker close the channel, or the connection, with this
  // code again.
  void OnRefusedAgain(std::uint16_t code);

 private:
  const Environment& environment_;
  std::uint32_t count_ = 0;
  std::optional<std::uint32_t> current_;
  std::uint32_t connections_lost_ = 0;           // by publishes that had been the cause before
  absl::Duration pause_ = absl::ZeroDuration();  // between such publishes
  absl::Duration next_turn_ = -absl::InfiniteDuration();  // since boot; not before this
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_PUBLISHER_ISOLATED_PUBLISHES_H_
