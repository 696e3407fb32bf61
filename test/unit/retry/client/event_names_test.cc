#include <gtest/gtest.h>

#include <set>
#include <string>

#include "retryq/observer.h"

namespace retryq {
namespace event_names_test {

constexpr int kKinds = static_cast<int>(EventKind::kBreakerClosed) + 1;

TEST(EventName, IsTheDesignsWordForWhatBecameOfAMessage) {
  EXPECT_EQ(EventName(EventKind::kDeclared), "declared");
  EXPECT_EQ(EventName(EventKind::kRenewed), "renewed");
  EXPECT_EQ(EventName(EventKind::kFailed), "failed");
  EXPECT_EQ(EventName(EventKind::kRetried), "retried");
  EXPECT_EQ(EventName(EventKind::kHandled), "acked");
  EXPECT_EQ(EventName(EventKind::kParked), "parked");
  EXPECT_EQ(EventName(EventKind::kRejected), "rejected");
  EXPECT_EQ(EventName(EventKind::kDiscarded), "discarded");
  EXPECT_EQ(EventName(EventKind::kRequeued), "requeued");
  EXPECT_EQ(EventName(EventKind::kSnoozed), "snoozed");
  EXPECT_EQ(EventName(EventKind::kMoved), "moved");
  EXPECT_EQ(EventName(EventKind::kForwarded), "forwarded");
  EXPECT_EQ(EventName(EventKind::kSkipped), "skipped");
  EXPECT_EQ(EventName(EventKind::kReturned), "returned");
  EXPECT_EQ(EventName(EventKind::kConnected), "connected");
  EXPECT_EQ(EventName(EventKind::kDisconnected), "disconnected");
  EXPECT_EQ(EventName(EventKind::kLeaseBroken), "lease_broken");
}

TEST(EventName, DiffersFromKindToKindAndIsLowerCase) {
  std::set<std::string> names;
  for (int kind = 0; kind < kKinds; ++kind) {
    const std::string name(EventName(static_cast<EventKind>(kind)));
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string::npos) << name;
    EXPECT_NE(name, "unknown") << kind;
    EXPECT_TRUE(names.insert(name).second) << name;
  }
}

}  // namespace event_names_test
}  // namespace retryq
