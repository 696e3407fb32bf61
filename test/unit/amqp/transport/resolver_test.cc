#include "amqp/transport/resolver.h"

#include <condition_variable>
#include <mutex>

#include "retryq/event_loop.h"
#include "support/test.h"
#include "unit/amqp/run_until.h"

namespace retryq::amqp::resolver_test {

constexpr absl::Duration kShort = absl::Milliseconds(1);
constexpr absl::Duration kLong = absl::Minutes(5);

// A name server that takes its time. Shared with the threads that ask it, which may outlive a test.
class NameServer {
 public:
  SocketAddresses LookUp(const Endpoint& endpoint) {
    std::unique_lock lock(mutex_);
    ++asked_[endpoint.host];
    answers_.wait(lock, [this] { return answers_now_; });
    if (endpoint.host == "nobody") return absl::UnavailableError("no such host");
    return std::vector<SocketAddress>(1);
  }

  void Answer() {
    const std::lock_guard lock(mutex_);
    answers_now_ = true;
    answers_.notify_all();
  }
  int asked(const std::string& host) {
    const std::lock_guard lock(mutex_);
    return asked_[host];
  }

 private:
  std::mutex mutex_;
  std::condition_variable answers_;
  bool answers_now_ = false;
  std::map<std::string, int> asked_;
};

class ResolverTest : public ::testing::Test {
 protected:
  ~ResolverTest() override { server_->Answer(); }

  void Resolve(const std::string& host, absl::Duration timeout) {
    found_.reset();
    resolver_->Resolve({.host = host}, timeout, [this](SocketAddresses found) { found_ = found; });
    EXPECT_FALSE(found_.has_value());
  }
  SocketAddresses Found() {
    RunUntil(loop_, [this] { return found_.has_value(); });
    return *found_;
  }
  // What a timer of the loop would have done by now is done.
  void LetPass(absl::Duration time) {
    bool over = false;
    const auto timer = loop_.After(time, [&over] { over = true; });
    RunUntil(loop_, [&over] { return over; });
  }

  EventLoop loop_;
  const std::shared_ptr<NameServer> server_ = std::make_shared<NameServer>();
  std::optional<Resolver> resolver_{
      std::in_place, loop_, loop_.executor(),
      [server = server_](const Endpoint& endpoint) { return server->LookUp(endpoint); }};
  std::optional<SocketAddresses> found_;
};

TEST_F(ResolverTest, ReportsTheResult) {
  server_->Answer();
  Resolve("rabbit", kLong);
  EXPECT_TRUE(Found().ok());
  Resolve("nobody", kLong);
  EXPECT_TRUE(absl::IsUnavailable(Found().status()));
}

TEST_F(ResolverTest, TimesOutIfNothingIsFound) {
  Resolve("rabbit", kShort);
  const absl::Status status = Found().status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("'rabbit'"), HasSubstr("1ms")));
}

TEST_F(ResolverTest, LooksUpTheNextEndpointWhileOneIsSlow) {
  Resolve("slow", kShort);
  EXPECT_FALSE(Found().ok());
  server_->Answer();
  Resolve("rabbit", kLong);
  EXPECT_TRUE(Found().ok());
}

TEST_F(ResolverTest, MakesOneThreadForAnEndpointHoweverOftenItIsTried) {
  for (int i = 0; i < 20; ++i) {
    Resolve("rabbit", kShort);
    EXPECT_FALSE(Found().ok());
  }
  RunUntil(loop_, [this] { return server_->asked("rabbit") > 0; });
  EXPECT_EQ(server_->asked("rabbit"), 1);
}

TEST_F(ResolverTest, UsesALateResultOnce) {
  Resolve("rabbit", kShort);
  EXPECT_FALSE(Found().ok());
  server_->Answer();
  Resolve("rabbit", kLong);
  EXPECT_TRUE(Found().ok());
  EXPECT_EQ(server_->asked("rabbit"), 1);
  Resolve("rabbit", kLong);
  EXPECT_TRUE(Found().ok());
  EXPECT_EQ(server_->asked("rabbit"), 2);
}

TEST_F(ResolverTest, LooksUpAgainIfTheCallerNoLongerWaits) {
  Resolve("rabbit", kShort);
  EXPECT_FALSE(Found().ok());
  resolver_->Forget();
  server_->Answer();
  Resolve("other", kLong);
  EXPECT_TRUE(Found().ok());
  resolver_->Forget();
  LetPass(kShort);
  Resolve("rabbit", kLong);
  EXPECT_TRUE(Found().ok());
}

TEST_F(ResolverTest, MayBeDestroyedDuringALookup) {
  Resolve("rabbit", kShort);
  resolver_.reset();
  server_->Answer();
  LetPass(2 * kShort);
  EXPECT_FALSE(found_.has_value());
}

}  // namespace retryq::amqp::resolver_test
