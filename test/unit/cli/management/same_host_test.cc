#include "cli/management/same_host.h"

#include <gtest/gtest.h>

#include <future>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace retryq::cli {
namespace {

constexpr absl::Duration kLong = absl::Seconds(20);

LookUpHost Known(const std::map<std::string, std::vector<std::string>>& hosts) {
  return [hosts](const std::string& host) {
    const auto found = hosts.find(host);
    return found == hosts.end() ? std::vector<std::string>() : found->second;
  };
}

TEST(SameHost, IsFoundByItsNameAlone) {
  const LookUpHost nothing = [](const std::string&) { return std::vector<std::string>(); };
  EXPECT_TRUE(IsSameHost("rabbit.example", "rabbit.example", kLong, nothing));
  EXPECT_TRUE(IsSameHost("Rabbit.Example.", "rabbit.example", kLong, nothing));
  EXPECT_FALSE(IsSameHost("rabbit.example", "other.example", kLong, nothing));
}

TEST(SameHost, IsFoundByAnyOfItsAddresses) {
  const LookUpHost hosts = Known({{"rabbit", {"10.0.0.1", "fd00::1"}},
                                  {"rabbit.internal", {"fd00::1"}},
                                  {"other", {"10.0.0.2"}}});
  EXPECT_TRUE(IsSameHost("rabbit", "rabbit.internal", kLong, hosts));
  EXPECT_FALSE(IsSameHost("rabbit", "other", kLong, hosts));
}

TEST(SameHost, TakesAllLoopbackAddressesForOne) {
  const LookUpHost hosts = Known({{"me", {"127.0.1.1"}}, {"six", {"::1"}}});
  EXPECT_TRUE(IsSameHost("me", "six", kLong, hosts));
}

TEST(SameHost, ComparesAddressesAndNotHowTheyAreWritten) {
  EXPECT_TRUE(IsSameHost("0:0:0:0:0:0:0:1", "127.0.0.1", kLong));
  EXPECT_TRUE(IsSameHost("fd00:0:0::1", "fd00::1", kLong));
  EXPECT_FALSE(IsSameHost("192.0.2.1", "192.0.2.2", kLong));
}

TEST(SameHost, IsAnotherOneWhileItCannotBeResolved) {
  const auto never = std::make_shared<std::promise<void>>();
  const std::shared_future<void> end = never->get_future().share();
  const LookUpHost hangs = [end](const std::string&) {
    end.wait();
    return std::vector<std::string>{"10.0.0.1"};
  };
  EXPECT_FALSE(IsSameHost("a", "b", absl::Milliseconds(20), hangs));
  never->set_value();
}

}  // namespace
}  // namespace retryq::cli
