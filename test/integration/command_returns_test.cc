// Whether a worker reports that its copies cannot return.

#include <nlohmann/json.hpp>

#include "cli/worker/broker_checks.h"
#include "integration/command_run.h"
#include "support/test.h"

namespace retryq::testing::command_returns_test {

using cli::ReturnTrouble;
using Kind = ReturnTrouble::Kind;

// With its own watch, which checks ten times a second.
class CommandReturns : public CommandTest {
 protected:
  std::unique_ptr<cli::ReturnWatch> Watch(const std::string& user = "") {
    const auto broker = amqp::ParseUri(vhost_.Url());
    auto management = cli::ParseManagementUrl(ManagementUrl(), *broker);
    if (!user.empty()) management->user = management->password = user;
    return std::make_unique<cli::ReturnWatch>(
        loop_,
        cli::ReturnWatch::Options{.management = *management,
                                  .vhost = vhost_.name(),
                                  .queue = "orders",
                                  .every = absl::Milliseconds(100)},
        cli::ReturnWatch::Callbacks{
            .trouble = [this](const auto& trouble) { troubles_.push_back(trouble); },
            .cannot_look = [this](const std::string& why) { unknown_.push_back(why); }});
  }

  static void Retried(cli::ReturnWatch& watch, std::string_view delay_queue) {
    watch.OnEvent({.kind = EventKind::kRetried,
                   .time = {},
                   .queue = "orders",
                   .delay = absl::Milliseconds(1),
                   .delay_queue = delay_queue});
  }

  // Runs the loop until it holds.
  template <typename Condition>
  ::testing::AssertionResult Until(Condition condition) {
    const absl::Time deadline = absl::Now() + absl::Seconds(60);
    std::unique_ptr<Timer> timer;
    const std::function<void()> look = [&] {
      if (condition() || absl::Now() > deadline) return loop_.Stop();
      timer = loop_.After(absl::Milliseconds(20), look);
    };
    look();
    loop_.Run().IgnoreError();
    return condition() ? ::testing::AssertionSuccess() : ::testing::AssertionFailure();
  }
  bool Last(std::optional<Kind> kind) const {
    if (troubles_.empty() || troubles_.back().has_value() != kind.has_value()) return false;
    return !kind || troubles_.back()->kind == *kind;
  }

  EventLoop loop_;
  std::vector<std::optional<ReturnTrouble>> troubles_;
  std::vector<std::string> unknown_;
};

TEST_F(CommandReturns, ReportsAMissingQueueUntilItExistsAgain) {
  peer_.DeclareQueue("retry.100.orders.q0", {{"x-queue-type", "quorum"},
                                             {"x-message-ttl", 100},
                                             {"x-dead-letter-exchange", ""},
                                             {"x-dead-letter-routing-key", "orders"},
                                             {"x-dead-letter-strategy", "at-least-once"},
                                             {"x-overflow", "reject-publish"}});
  vhost_.DeleteQueue("orders");
  for (const char* body : {"a", "b", "c"}) peer_.Publish("", "retry.100.orders.q0", body);
  const auto watch = Watch();
  Retried(*watch, "retry.100.orders.q0");
  ASSERT_TRUE(Until([&] { return Last(Kind::kGone) && troubles_.back()->undelivered == 3; }));
  EXPECT_THAT(troubles_.back()->why, HasSubstr("'orders' does not exist"));
  peer_.DeclareQueue("orders");
  // RabbitMQ tries again every 3 minutes: undelivered messages are reported until then.
  ASSERT_TRUE(Until([&] { return Last(Kind::kUndelivered) || Last(std::nullopt); }));
}

TEST_F(CommandReturns, ReportsAFullQueueUntilItHasRoom) {
  vhost_.DeleteQueue("orders");
  peer_.DeclareQueue("orders", {{"x-max-length", 2}, {"x-overflow", "reject-publish"}});
  for (const char* body : {"a", "b"}) peer_.Publish("", "orders", body);
  const auto watch = Watch();
  // The broker reports the length of a queue some seconds later, and the watch makes no request if
  // no copy is due.
  ASSERT_TRUE(Until([&] {
    Retried(*watch, "retry.100");
    return Last(Kind::kFull);
  }));
  EXPECT_THAT(troubles_.back()->why, HasSubstr("max-length 2"));
  peer_.Purge("orders");
  EXPECT_TRUE(Until([&] { return Last(std::nullopt); }));
}

TEST_F(CommandReturns, ReportsAPolicyThatSendsCopiesElsewhere) {
  peer_.DeclareQueue("retry.100");
  vhost_.management().Put("/policies/" + vhost_.name() + "/elsewhere",
                          {{"pattern", "^retry[.]"},
                           {"apply-to", "queues"},
                           {"definition", {{"dead-letter-routing-key", "x"}}}});
  const auto watch = Watch();
  ASSERT_TRUE(Until([&] {
    Retried(*watch, "retry.100");
    return Last(Kind::kRedirected);
  }));
  EXPECT_THAT(troubles_.back()->why, AllOf(HasSubstr("'x'"), HasSubstr("'retry.100'")));
}

TEST_F(CommandReturns, ReportsOnceThatTheStateIsUnknown) {
  const auto watch = Watch("nobody");
  Retried(*watch, "retry.100");
  ASSERT_TRUE(Until([&] { return !unknown_.empty(); }));
  const absl::Time later = absl::Now() + absl::Seconds(1);
  EXPECT_TRUE(Until([&] { return absl::Now() > later; }));
  EXPECT_EQ(unknown_.size(), 1U);
  EXPECT_THAT(unknown_.front(), HasSubstr("'nobody'"));
}

TEST_F(CommandReturns, AWorkerReportsBlockedReturnsWithinAMinuteAndInItsMetrics) {
  CommandRun run = Work({"--queue-type", "quorum", "--management", ManagementUrl()},
                        "[ -e " + File("deleted") + " ] || exit 1");
  ASSERT_TRUE(run.Says("consuming"));
  Publish("an order");
  ASSERT_TRUE(run.Says("retried"));
  vhost_.DeleteQueue("orders");
  ASSERT_TRUE(CommandRun::WaitUntil([&] { return !run.events("returns_blocked").empty(); },
                                    absl::Minutes(3)));
  EXPECT_THAT(run.events("returns_blocked").at(0).at("error"), HasSubstr("does not exist"));
  EXPECT_TRUE(run.Stop());
}

}  // namespace retryq::testing::command_returns_test
