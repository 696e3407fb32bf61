#include "amqp/channel/ack_coalescer.h"

#include <random>

#include "support/test.h"

namespace retryq::amqp::ack_coalescer_test {

using Kind = AckCoalescer::Kind;

std::vector<std::string> Flush(AckCoalescer& acks) {
  std::vector<std::string> said;
  acks.Flush([&](std::uint64_t tag, Kind kind, bool multiple) {
    const char* const name = kind == Kind::kAck       ? "ack "
                             : kind == Kind::kRequeue ? "requeue "
                                                      : "reject ";
    said.push_back(absl::StrCat(name, tag, multiple ? " multiple" : ""));
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
  acks.Settle(0, Kind::kAck);
  acks.Settle(3, Kind::kAck);
  acks.Settle(1, Kind::kAck);
  acks.Settle(1, Kind::kAck);
  acks.Settle(1, Kind::kRequeue);
  EXPECT_THAT(Flush(acks), ElementsAre("ack 1"));
  acks.Settle(1, Kind::kAck);
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

// Each method is a Raft command of a quorum queue.
TEST(AckCoalescer, SettlesRunsOfOneKindAtOnce) {
  AckCoalescer acks = WithDeliveries(9);
  for (const std::uint64_t tag : {5U, 4U, 6U}) acks.Settle(tag, Kind::kRequeue);
  for (const std::uint64_t tag : {3U, 1U, 2U, 7U, 9U}) acks.Settle(tag, Kind::kAck);
  EXPECT_THAT(Flush(acks), ElementsAre("ack 3 multiple", "requeue 6 multiple", "ack 7", "ack 9"));
  acks.Settle(8, Kind::kReject);
  EXPECT_THAT(Flush(acks), ElementsAre("reject 8"));
}

// The broker's side of it: what is unsettled, and what a method may name.
class Model {
 public:
  void Deliver(std::uint64_t tag) { open_.insert(tag); }
  void Settle(std::uint64_t tag, Kind kind, bool multiple) {
    ASSERT_TRUE(open_.contains(tag)) << "406 unknown delivery tag " << tag;
    for (auto it = multiple ? open_.begin() : open_.find(tag); it != open_.end() && *it <= tag;) {
      settled_[*it] = kind;
      it = open_.erase(it);
    }
  }

  const std::map<std::uint64_t, Kind>& settled() const { return settled_; }

 private:
  std::set<std::uint64_t> open_;
  std::map<std::uint64_t, Kind> settled_;
};

TEST(AckCoalescer, ReportsTheMostDeliveriesOpenAtOnce) {
  AckCoalescer acks;
  EXPECT_EQ(acks.TakeMostOpen(), 0U);
  for (const std::uint64_t tag : {1U, 2U, 5U}) ASSERT_TRUE(acks.OnDelivered(tag));
  acks.Settle(2, Kind::kAck);
  acks.Settle(2, Kind::kAck);
  acks.Settle(4, Kind::kAck);
  acks.Settle(1, Kind::kRequeue);
  ASSERT_TRUE(acks.OnDelivered(6));
  EXPECT_EQ(acks.TakeMostOpen(), 3U);
  EXPECT_EQ(acks.TakeMostOpen(), 2U);
  acks.Settle(5, Kind::kAck);
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
    std::map<std::uint64_t, Kind> settled;
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
        const Kind kind = below(5) > 0    ? Kind::kAck
                          : below(2) == 0 ? Kind::kRequeue
                                          : Kind::kReject;
        acks.Settle(*at, kind);
        settled[*at] = kind;
        open.erase(at);
      }
      acks.Flush([&](std::uint64_t tag, Kind kind, bool multiple) {
        broker.Settle(tag, kind, multiple);
        ++said;
      });
      ASSERT_EQ(broker.settled(), settled);
    }
    EXPECT_LT(said, settled.size());
  }
}

}  // namespace retryq::amqp::ack_coalescer_test
