#ifndef RETRYQ_TEST_SUPPORT_REFEREE_H_
#define RETRYQ_TEST_SUPPORT_REFEREE_H_

#include "support/test.h"

namespace retryq::testing {

// Counts messages by id: each sent message must finally be handled or parked, exactly once.
class Referee {
 public:
  void Sent(std::string_view id) { ++tallies_[std::string(id)].sent; }
  void Failed(std::string_view id) { ++tallies_[std::string(id)].failed; }
  void Handled(std::string_view id) { ++Done(id).handled; }
  void Parked(std::string_view id) { ++Done(id).parked; }

  // Messages that are done, however often.
  std::size_t done() const { return done_; }

  // Whether each message was handled exactly once, after exactly this number of failures.
  ::testing::AssertionResult EachHandledOnceAfter(int failures) const {
    return Each("handled once, after " + std::to_string(failures) + " failures",
                [failures](const Tally& tally) {
                  return tally.handled == 1 && tally.parked == 0 && tally.failed == failures;
                });
  }

  // Whether no message is missing; duplicates are allowed.
  ::testing::AssertionResult NoneLost() const {
    return Each("handled or parked",
                [](const Tally& tally) { return tally.handled + tally.parked >= 1; });
  }

 private:
  struct Tally {
    int sent = 0;
    int failed = 0;
    int handled = 0;
    int parked = 0;
  };

  Tally& Done(std::string_view id) {
    Tally& tally = tallies_[std::string(id)];
    if (tally.handled + tally.parked == 0) ++done_;
    return tally;
  }

  template <typename Rule>
  ::testing::AssertionResult Each(const std::string& what, Rule rule) const {
    ::testing::AssertionResult verdict = ::testing::AssertionFailure();
    std::size_t wrong = 0;
    for (const auto& [id, tally] : tallies_) {
      if (tally.sent == 1 && rule(tally)) continue;
      if (++wrong > 10) continue;
      verdict << id << ": sent " << tally.sent << ", failed " << tally.failed << ", handled "
              << tally.handled << ", parked " << tally.parked << "\n";
    }
    if (wrong == 0) return ::testing::AssertionSuccess();
    return verdict << wrong << " of " << tallies_.size() << " were not " << what;
  }

  std::map<std::string, Tally> tallies_;
  std::size_t done_ = 0;
};

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_SUPPORT_REFEREE_H_
