#include "retryq/observer.h"
#include "support/test.h"

namespace retryq::event_names_test {

constexpr int kKinds = static_cast<int>(EventKind::kBreakerClosed) + 1;

TEST(EventName, IsUniqueAndLowerCase) {
  std::set<std::string> names;
  for (int kind = 0; kind < kKinds; ++kind) {
    const std::string name(EventName(static_cast<EventKind>(kind)));
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string::npos) << name;
    EXPECT_NE(name, "unknown") << kind;
    EXPECT_TRUE(names.insert(name).second) << name;
  }
}

}  // namespace retryq::event_names_test
