#include "amqp/channel/ack_coalescer.h"

#include <gmock/gmock.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace retryq::amqp::ack_coalescer_test {

using ::testing::ElementsAre;

std::vector<std::string> Flush(AckCoalescer& acks) {
  std::vector<std::string> said;
  acks.Flush(
      [&](std::uint64_t tag, bool multiple) {
        said.push_back(absl::StrCat("ack ", tag, multiple ? " multiple" : ""));
      },
      [&](std::uint64_t tag, bool requeue) {
        said.push_back(absl::StrCat("reject ", tag, requeue ? " requeue" : ""));
      });
  EXPECT_FALSE(acks.pending());
  return said;
}

AckCoalescer WithDeliveries(std::uint64_t count) {
  AckCoalescer acks;
  for (std::uint64_t tag = 1; tag <= count; ++tag) EXPECT_TRUE(acks.OnDelivered(tag));
  return acks;
}

TEST(AckCoalescer, IgnoresTagsThatAreNotOpen) {
  AckCoalescer acks = WithDeliveries(2);
  acks.Ack(0);
  acks.Ack(3);
  acks.Ack(1);
  acks.Ack(1);
  acks.Reject(1, true);
  EXPECT_THAT(Flush(acks), ElementsAre("ack 1"));
  acks.Ack(1);
  EXPECT_FALSE(acks.pending());
}

TEST(AckCoalescer, RefusesTagsThatDoNotIncrease) {
  AckCoalescer acks;
  EXPECT_FALSE(acks.OnDelivered(0));
  EXPECT_TRUE(acks.OnDelivered(7));
  for (const std::uint64_t tag : {7U, 6U, 0U}) EXPECT_FALSE(acks.OnDelivered(tag)) << tag;
  EXPECT_TRUE(acks.OnDelivered(8));
}

TEST(AckCoalescer, RefusesTagsThatSkipTooMany) {
  AckCoalescer acks;
  EXPECT_FALSE(acks.OnDelivered(2 + AckCoalescer::kMostSkipped));
  EXPECT_FALSE(acks.OnDelivered(~std::uint64_t{0}));
  EXPECT_TRUE(acks.OnDelivered(1));
}

// The broker's side of it: what is unsettled, and what a method may name.
class Model {
 public:
  void Deliver(std::uint64_t tag) { open_.insert(tag); }
  void Ack(std::uint64_t tag, bool multiple) {
    ASSERT_TRUE(open_.contains(tag)) << "406 unknown delivery tag " << tag;
    for (auto it = multiple ? open_.begin() : open_.find(tag); it != open_.end() && *it <= tag;) {
      acked_.insert(*it);
      it = open_.erase(it);
    }
  }
  void Reject(std::uint64_t tag) {
    ASSERT_EQ(open_.erase(tag), 1U) << "406 unknown delivery tag " << tag;
    rejected_.insert(tag);
  }

  const std::set<std::uint64_t>& acked() const { return acked_; }
  const std::set<std::uint64_t>& rejected() const { return rejected_; }

 private:
  std::set<std::uint64_t> open_;
  std::set<std::uint64_t> acked_;
  std::set<std::uint64_t> rejected_;
};

TEST(AckCoalescer, ReportsTheMostDeliveriesOpenAtOnce) {
  AckCoalescer acks;
  EXPECT_EQ(acks.TakeMostOpen(), 0U);
  for (const std::uint64_t tag : {1U, 2U, 5U}) ASSERT_TRUE(acks.OnDelivered(tag));
  acks.Ack(2);
  acks.Ack(2);
  acks.Ack(4);
  acks.Reject(1, /*requeue=*/true);
  ASSERT_TRUE(acks.OnDelivered(6));
  EXPECT_EQ(acks.TakeMostOpen(), 3U);
  EXPECT_EQ(acks.TakeMostOpen(), 2U);
  acks.Ack(5);
  EXPECT_EQ(acks.TakeMostOpen(), 2U);
  EXPECT_EQ(acks.TakeMostOpen(), 1U);
}

TEST(AckCoalescer, SettlesExactlyTheRequestedTagsInAnyOrder) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto below = [&](std::size_t n) {
      return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
    };
    AckCoalescer acks;
    Model broker;
    std::vector<std::uint64_t> open;
    std::set<std::uint64_t> acked;
    std::set<std::uint64_t> rejected;
    std::uint64_t delivered = 0;
    std::size_t said = 0;
    for (int turn = 0; turn < 50; ++turn) {
      for (std::size_t n = below(10); n > 0; --n) {
        ASSERT_TRUE(acks.OnDelivered(++delivered));
        broker.Deliver(delivered);
        open.push_back(delivered);
      }
      for (std::size_t n = below(open.size() + 1); n > 0; --n) {
        const auto at = open.begin() + static_cast<std::ptrdiff_t>(below(open.size()));
        if (below(5) == 0) {
          acks.Reject(*at, below(2) == 0);
          rejected.insert(*at);
        } else {
          acks.Ack(*at);
          acked.insert(*at);
        }
        open.erase(at);
      }
      acks.Flush(
          [&](std::uint64_t tag, bool multiple) {
            broker.Ack(tag, multiple);
            ++said;
          },
          [&](std::uint64_t tag, bool) { broker.Reject(tag); });
      ASSERT_EQ(broker.acked(), acked);
      ASSERT_EQ(broker.rejected(), rejected);
    }
    EXPECT_LT(said, acked.size());
  }
}

}  // namespace retryq::amqp::ack_coalescer_test
