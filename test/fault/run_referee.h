#ifndef RETRYQ_TEST_FAULT_RUN_REFEREE_H_
#define RETRYQ_TEST_FAULT_RUN_REFEREE_H_

#include "fault/message_name.h"
#include "support/standard.h"

namespace retryq::fault {

// The results of the messages of a run: sent = handled + parked + waiting + destroyed + lost.
struct Count {
  std::uint64_t sent = 0;
  std::uint64_t handled = 0;
  std::uint64_t parked = 0;   // and not handled
  std::uint64_t waiting = 0;  // still in a queue, and neither handled nor parked
  std::uint64_t duplicates = 0;
  std::uint64_t destroyed = 0;  // in queues that were deleted or purged by hand
  std::uint64_t lost = 0;
};

// Counts messages by number. Each message must be handled, parked, or waiting. Of the missing
// messages, at most the number that was deleted by hand count as destroyed, the others as lost.
class RunReferee {
 public:
  void Handled(const MessageName& name) { ++tallies_[name].handled; }
  void Parked(const MessageName& name) { ++tallies_[name].parked; }
  void Waiting(const MessageName& name) { ++tallies_[name].waiting; }

  // At most this number of messages has been deleted by hand: the count of delete-ok or purge-ok,
  // and the messages that were being published to that queue meanwhile.
  void MayHaveDestroyed(std::uint64_t at_most) { may_be_destroyed_ += at_most; }
  std::uint64_t may_be_destroyed() const { return may_be_destroyed_; }

  // The numbers below `sent` that have not ended yet.
  std::vector<std::uint64_t> Missing(std::uint64_t sent) const {
    std::vector<bool> found(sent, false);
    for (const auto& [name, tally] : tallies_) {
      if (name.number < sent) found[name.number] = true;
    }
    std::vector<std::uint64_t> missing;
    for (std::uint64_t number = 0; number < sent; ++number) {
      if (!found[number]) missing.push_back(number);
    }
    return missing;
  }

  // Of messages 0 to `sent` - 1. Messages that the producer itself has published twice are not
  // duplicates.
  Count Result(std::uint64_t sent) const {
    Count count{.sent = sent};
    std::map<std::uint64_t, Tally> numbers;
    for (const auto& [name, tally] : tallies_) {
      Tally& number = numbers[name.number];
      number.handled += tally.handled;
      number.parked += tally.parked;
      number.waiting += tally.waiting;
      count.duplicates += tally.handled + tally.parked + tally.waiting - 1;
    }
    for (const auto& [number, tally] : numbers) {
      if (number >= sent) continue;
      ++(tally.handled > 0 ? count.handled : tally.parked > 0 ? count.parked : count.waiting);
    }
    const std::uint64_t missing = sent - count.handled - count.parked - count.waiting;
    count.destroyed = std::min(missing, may_be_destroyed_);
    count.lost = missing - count.destroyed;
    return count;
  }

 private:
  struct Tally {
    std::uint64_t handled = 0;
    std::uint64_t parked = 0;
    std::uint64_t waiting = 0;
  };

  std::map<MessageName, Tally> tallies_;
  std::uint64_t may_be_destroyed_ = 0;
};

}  // namespace retryq::fault

#endif  // RETRYQ_TEST_FAULT_RUN_REFEREE_H_
