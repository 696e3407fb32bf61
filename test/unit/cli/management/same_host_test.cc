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
  EXPECT_EQ(IsSameHost("rabbit.example", "rabbit.example", kLong, nothing), true);
  EXPECT_EQ(IsSameHost("Rabbit.Example.", "rabbit.example", kLong, nothing), true);
  EXPECT_EQ(IsSameHost("rabbit.example", "other.example", kLong, nothing), std::nullopt);
}

TEST(SameHost, IsFoundByAnyOfItsAddresses) {
  const LookUpHost hosts = Known({{"rabbit", {"10.0.0.1", "fd00::1"}},
                                  {"rabbit.internal", {"fd00::1"}},
                                  {"other", {"10.0.0.2"}}});
  EXPECT_EQ(IsSameHost("rabbit", "rabbit.internal", kLong, hosts), true);
  EXPECT_EQ(IsSameHost("rabbit", "other", kLong, hosts), false);
}

TEST(SameHost, TakesAllLoopbackAddressesForOne) {
  const LookUpHost hosts = Known({{"me", {"127.0.1.1"}}, {"six", {"::1"}}});
  EXPECT_EQ(IsSameHost("me", "six", kLong, hosts), true);
}

TEST(SameHost, ComparesAddressesAndNotHowTheyAreWritten) {
  EXPECT_EQ(IsSameHost("0:0:0:0:0:0:0:1", "127.0.0.1", kLong), true);
  EXPECT_EQ(IsSameHost("fd00:0:0::1", "fd00::1", kLong), true);
  EXPECT_EQ(IsSameHost("192.0.2.1", "192.0.2.2", kLong), false);
}

TEST(SameHost, IsUnknownWhileItCannotBeResolved) {
  const auto never = std::make_shared<std::promise<void>>();
  const std::shared_future<void> end = never->get_future().share();
  const LookUpHost hangs = [end](const std::string&) {
    end.wait();
    return std::vector<std::string>{"10.0.0.1"};
  };
  EXPECT_EQ(IsSameHost("a", "b", absl::Milliseconds(20), hangs), std::nullopt);
  never->set_value();
}

}  // namespace
}  // namespace retryq::cli
